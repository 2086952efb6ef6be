// Words every level moves over the whole layer (E4.3, E4.6): those of the tiles of all steps, less
// what stays from step to step. Which chunks there are and how often is independent from loop to
// loop, so a sum over all steps of all boxes of a product over loops is a product of one sum per
// loop.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../core/numbers.hpp"
#include "partition.hpp"
#include "sliding.hpp"

namespace gym::exact {

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
