// Points as numpy has them: what is accepted, and what is said of what is not.
#pragma once

#include <pybind11/numpy.h>

#include <cstdint>
#include <vector>

#include "../map_space.hpp"

namespace gym::python {

// Returns N; throws std::invalid_argument unless the points are int32[N, D] in C order.
std::int64_t count_points(const MapSpace& space, const pybind11::array& points);

// Copies points from `start` on into `block`: the caller may change its array while they are
// evaluated. Throws std::invalid_argument unless they are in range.
void copy_points(const MapSpace& space, const pybind11::array& points, std::int64_t start,
                 std::int64_t count, std::vector<std::int32_t>& block);

}  // namespace gym::python
