// Words every level moves over the whole layer (E4.3, E4.6), summed in product form: which chunks
// there are and how often is independent from loop to loop, so a sum over all steps of all boxes of
// a product over loops is a product of one sum per loop.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cut.hpp"
#include "overlap.hpp"
#include "tiling.hpp"

namespace gym::exact {

// Words of one level: what its arrays fetch from above, its units take in, and what they send up.
struct LevelWords {
  std::int64_t fetched_input = 0, fetched_filter = 0;
  std::int64_t unit_input = 0, unit_filter = 0;
  std::int64_t leaving = 0;
};

class Traffic {
 public:
  explicit Traffic(const LoopNest& nest);

  // Buffers are kept between calls.
  void count(const Tiling& tiling, std::array<LevelWords, kMaxLevels>& words);

  // Cycles all PEs compute, `simd_lanes` MACs a cycle; needs the counts of the same tiling.
  std::int64_t busy_pe_cycles(std::int64_t simd_lanes) const;

 private:
  // A loop's place in a level as one mover advances: outside it (or uncut), itself, or inside it.
  enum class Role : std::uint8_t { outside, mover, inside };
  // Boxes of a level that have one extent in a loop.
  struct Variant {
    std::int64_t extent;
    std::int64_t boxes;
    Cut cut;
  };
  struct Total {
    std::int64_t needed, kept;
  };
  // What one loop contributes to a mover's moves, summed over the boxes of the level.
  struct Part {
    std::int64_t times;    // where no axis of a tensor has the loop
    Total size;            // tile sizes after the moves, and of what stays
    Total units;           // units at work after the moves, and both before and after
    std::int64_t before;   // tile sizes before the moves
    std::int64_t unmoved;  // of them, those of boxes in which the loop does not move
  };
  // Weighted moves of one loop of a sliding axis, from one array tile to the next.
  struct AxisMove {
    std::int64_t weight;
    const Cut* cut;
    int from, to;  // 0: before the last position, 1: the last
    std::int64_t shift;
  };
  struct Axis {
    LoopId output, window;
    std::int64_t stride;
  };
  // Rows of an axis over all moves, of array tiles and of the units' own.
  struct AxisTotals {
    Total array, units;
  };
  using Moves = std::vector<AxisMove>;

  void open_level(const TiledLevel& level);
  void close_level();
  LevelWords count_level();
  void tabulate(LoopId id);
  void assign_roles(int mover);
  const Part& part(LoopId id) const { return parts_[id][static_cast<std::size_t>(roles_[id])]; }
  void add_filter(bool moves, LevelWords& words) const;
  void add_input(bool moves, LevelWords& words);
  const AxisTotals& axis(std::size_t index);
  AxisTotals sum_axis(const Axis& axis, Role output, Role window);
  void list_moves(LoopId id, Role role, Moves& moves) const;
  Total slide(const Axis& axis, const AxisMove& p, const AxisMove& r, bool units) const;
  std::int64_t leaving(bool moves) const;

  const LoopNest& nest_;
  std::vector<LoopId> loops_;  // of more than one index: the others never change
  const TiledLevel* level_ = nullptr;
  std::array<Axis, 2> axes_;
  std::array<int, kLoops> position_{};  // in the level's loops, -1 if uncut
  std::array<std::vector<Variant>, kLoops> variants_;
  std::array<std::array<Part, 3>, kLoops> parts_;  // by role
  std::array<Role, kLoops> roles_{};
  // By axis and by the roles of its two loops, which is all a mover means to an axis.
  std::array<std::array<AxisTotals, 9>, 2> axis_totals_;
  std::array<std::uint32_t, 2> known_totals_{};
  Moves output_moves_, window_moves_;
  std::vector<Variant> next_;
};

}  // namespace gym::exact
