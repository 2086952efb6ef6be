// Words every level moves over the whole layer (E4.3, E4.6), summed in product form: which chunks
// there are and how often is independent from loop to loop, so a sum over all steps of all boxes of
// a product over loops is a product of one sum per loop.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "partition.hpp"
#include "sliding.hpp"

namespace gym::exact {

// Words of one level: what its arrays fetch from above, its units take in, and what they send up.
struct LevelWords {
  std::int64_t fetched_input = 0, fetched_filter = 0;
  std::int64_t unit_input = 0, unit_filter = 0;
  std::int64_t leaving = 0;
};

class Traffic {
 public:
  Traffic(const LoopNest& nest, const Partition& partition);

  void count(const Tiling& tiling, std::array<LevelWords, kMaxLevels>& words);

  // Cycles all PEs compute, `simd_lanes` MACs a cycle.
  std::int64_t busy_pe_cycles(const Tiling& tiling, std::int64_t simd_lanes) const;

 private:
  // What one loop contributes to a mover's moves, summed over the boxes of the level.
  struct Part {
    std::int64_t times = 1;    // where no axis of a tensor has the loop
    Total size{1, 1};          // tile sizes after the moves, and of what stays
    Total units{1, 1};         // units at work after the moves, and both before and after
    std::int64_t before = 1;   // tile sizes before the moves
    std::int64_t unmoved = 1;  // of them, those of boxes in which the loop does not move
  };
  using Parts = std::array<Part, kRoles>;
  using Loops = std::vector<LoopId>;

  void open_level(int j, const TiledLevel& level);
  LevelWords count_level(const TiledLevel& level);
  void tabulate(LoopId id, const Variants& variants);
  void play(LoopId id, Role role);
  void copy_to_units(const Loops& loops, Total& total, Total& units) const;
  void add_filter(bool moves, LevelWords& words) const;
  void add_input(bool moves, LevelWords& words);
  std::int64_t leaving(bool moves) const;

  const LoopNest& nest_;
  const Partition& partition_;
  // Of more than one index: the others contribute 1.
  Loops loops_;
  Loops filter_, not_filter_, input_singles_, not_input_, output_, reduction_;
  LoopId spatial_ = kLoops;
  std::array<SlidingRows, 2> axes_;
  std::array<Parts, kLoops> parts_;
  std::array<Role, kLoops> roles_{};
  std::array<const Part*, kLoops> part_{};  // in their roles
};

}  // namespace gym::exact
