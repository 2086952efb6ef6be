// The ways to split a box of mappings into boxes that together are the whole (docs/optimum.md, 8).
#pragma once

#include <vector>

#include "loop.hpp"

namespace gym::optimum {

// Parts of a loop's tiles: first ranges of the outer one, by the chunks it makes, then of the inner
// one. None if there is one choice of both.
std::vector<Tiles> split(const Loop& loop, const Tiles& tiles);
// Parts of a range of cluster sizes; none if it is one.
std::vector<Choices> split(Choices cluster);

// Leaves out inner tiles that are cut to the largest outer one, but for the first such.
Tiles without_doubles(const Loop& loop, Tiles tiles);

}  // namespace gym::optimum
