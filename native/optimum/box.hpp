// Sets of mappings.
#pragma once

#include <array>
#include <vector>

#include "problem.hpp"

namespace gym::optimum {

// An innermost loop that is not decided.
inline constexpr int kAny = -2;

// Mappings with these parallel loops and innermost loops, whose sizes lie in ranges of choices.
// Loops are those of the problem, or kNone; both levels are named the outer one first.
struct Box {
  std::array<int, 2> parallel;
  std::array<int, 2> innermost;  // of those that take several steps, at the inner level in the
                                 // largest box; or kAny
  Choices cluster;
  std::array<Tiles, kLoops> tiles;  // those of no loop are 0
};

// Leaves out inner tiles that are cut to the largest outer one, but for the first such, and outer
// tiles to which a smaller inner one than any of these is cut too.
Tiles without_doubles(const Loop& loop, Tiles tiles);

// Boxes that together are all mappings of the space.
std::vector<Box> all_mappings(const Problem& problem);

// Whether all that a box names is there.
bool belongs(const Problem& problem, const Box& box);

// Whether all but the orders is chosen, and the innermost loops of these.
bool is_leaf(const Problem& problem, const Box& box);

// A point of every mapping of such a box that differs from the others in the order of loops that
// take several steps; one after the other.
std::vector<std::int32_t> points_of(const Problem& problem, const Box& leaf);

}  // namespace gym::optimum
