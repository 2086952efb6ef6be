// The proof of a bound as a tree of boxes, list after list (docs/optimum.md, 9).
#pragma once

#include <cstdint>
#include <vector>

#include "branch.hpp"

namespace gym::optimum {

// What becomes of each box of a list. Axes are numbered by dimensions of the map space: outer
// tiles, inner tiles, cluster size, innermost loop of the outer and of the inner level.
struct Block {
  std::vector<std::uint8_t> trims;  // what is left out of ranges first, a number a box; of each:
  std::vector<std::uint8_t> trim_axes;  // and whether it is from below
  std::vector<std::int32_t> trim_ends;  // the first or last choice that is left
  std::vector<std::uint8_t> actions;    // the axis it is split by, or kEvaluated
  std::vector<std::uint8_t> parts;      // of each box that is split; of each part:
  std::vector<std::int32_t> sizes;      // number of choices, or the innermost loop
  std::vector<std::uint8_t> goes_on;    // 0 where it is left out
  std::vector<Box> next;                // parts that go on

  void append(const Block& other);
};

inline constexpr std::uint8_t kEvaluated = 255, kFromBelow = 128;

// Leaves out parts that cannot cost less than `bound`. The result does not depend on the threads.
Block prove(const Problem& problem, Objective objective, const std::vector<Box>& boxes,
            double bound, int threads);

}  // namespace gym::optimum
