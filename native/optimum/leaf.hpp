// The mappings of a box whose sizes are all chosen: its loop orders, as points.
#pragma once

#include <vector>

#include "bound.hpp"

namespace gym::optimum {

// Whether all but the orders is chosen, and the innermost loops of these.
bool is_leaf(const Problem& problem, const Box& box);

// A point of every mapping of such a box that differs from the others in the order of loops that
// take several steps; one after the other.
std::vector<std::int32_t> points_of(const Problem& problem, const Box& leaf);

}  // namespace gym::optimum
