// Words every level moves over the whole layer (E4.3, E4.6): those of the tiles of all steps, less
// what stays from step to step. Which chunks there are and how often is independent from loop to
// loop, so a sum over all steps of all boxes of a product over loops is a product of one sum per
// loop.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "../core/numbers.hpp"
#include "partition.hpp"
#include "tile.hpp"

namespace gym::exact {

// A loop's place in a level as one mover advances: outside it (or uncut), itself, or inside it.
enum class Role : std::uint8_t { outside, mover, inside };
inline constexpr std::size_t kRoles = 3;

// Rows of a sliding axis that stay in the arrays of a level as one of its loops advances, summed
// over all its boxes.
class SlidingRows {
 public:
  // Of array tiles, and of the units' own.
  struct Rows {
    std::int64_t array, units;
  };

  SlidingRows(const LoopNest& nest, const SlidingAxis& axis)
      : axis_(axis), extent_(nest.extent[axis.output]), taps_(nest.extent[axis.window]) {}

  void open(const Partition& partition, int j, const TiledLevel& level);

  // By the roles of the axis' two loops, which is all a mover means to it. If both are outside it,
  // all rows of all tiles stay.
  const Rows& kept(Role output, Role window);

 private:
  // Weighted moves of one loop, from one array tile to the next.
  struct Move {
    std::int64_t weight;
    const Cut* cut;
    int from, to;  // 0: before the last position, 1: the last
    std::int64_t shift;
  };
  class Moves {
   public:
    const Move* begin() const { return each_.data(); }
    const Move* end() const { return each_.data() + count_; }
    void list(Variants variants, Role role);

   private:
    void add(const Move& move) { each_[static_cast<std::size_t>(count_++)] = move; }

    // At most two of a variant.
    std::array<Move, std::size_t{2} << (kMaxLevels - 1)> each_;
    int count_ = 0;
  };
  // Of one loop, by its role.
  class MovesByRole {
   public:
    void clear() { known_ = {}; }
    const Moves& of(Variants variants, Role role) {
      const auto index = static_cast<std::size_t>(role);
      if (!std::exchange(known_[index], true)) moves_[index].list(variants, role);
      return moves_[index];
    }

   private:
    std::array<bool, kRoles> known_{};
    std::array<Moves, kRoles> moves_;
  };

  Rows sum_uncut_window(Role output) const;
  Rows sum_one_window(Role output, std::int64_t taps) const;
  std::optional<Rows> sum_of_stride_one(Role output, Role window) const;
  Rows sum(Role output, Role window);
  std::int64_t array_rows(const Move& output, const Move& window) const;
  std::int64_t unit_rows(const Move& output, const Move& window) const;

  SlidingAxis axis_;
  std::int64_t extent_, taps_;  // of the output loop and of the window
  LoopId spatial_ = kLoops;
  std::int64_t tile_ = 1, units_ = 1;  // of the output loop
  bool uncut_window_ = true;
  const Sums* sums_ = nullptr;  // of the output loop
  const Sums* window_sums_ = nullptr;
  Variants outputs_, windows_;
  std::array<Rows, kRoles * kRoles> rows_;
  std::uint32_t known_ = 0;
  MovesByRole output_moves_, window_moves_;
};

// Words of one level: what its arrays fetch from above, its units take in, and what they send up.
template <typename Number>
struct BasicLevelWords {
  Number fetched_input, fetched_filter;
  Number unit_input, unit_filter;
  Number leaving;

  GYM_INLINE Number fetched() const { return fetched_input + fetched_filter; }
};
using LevelWords = BasicLevelWords<Count>;

class Traffic {
 public:
  Traffic(const LoopNest& nest, const Partition& partition);

  void count(const Tiling& tiling, std::array<LevelWords, kMaxLevels>& words);

  // Cycles all PEs compute, `simd_lanes` MACs a cycle.
  std::int64_t busy_pe_cycles(const Tiling& tiling, std::int64_t simd_lanes) const;

 private:
  LevelWords count_level(int j, const TiledLevel& level);
  std::int64_t moved(int j, const TiledLevel& level, LoopSet tensor, LoopId copied) const;
  void add_input(int j, const TiledLevel& level, LevelWords& words);

  const LoopNest& nest_;
  const Partition& partition_;
  std::vector<LoopId> loops_;  // of more than one index: the others change nothing
  std::array<SlidingRows, 2> axes_;
};

}  // namespace gym::exact
