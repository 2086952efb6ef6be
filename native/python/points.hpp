// Points as numpy has them: what is accepted, and what is said of what is not.
#pragma once

#include <pybind11/numpy.h>

#include <cstdint>
#include <vector>

#include "../map_space.hpp"

namespace gym::python {

using Points = pybind11::array_t<std::int32_t, pybind11::array::c_style>;

// A copy of any D integers, or N times D of them, as int32[D] or int32[N, D], whose range is left
// to be checked. Throws std::invalid_argument else, and of what int32 cannot hold.
Points to_point(const MapSpace& space, const pybind11::object& values);
Points to_points(const MapSpace& space, const pybind11::object& values, pybind11::ssize_t count);

// Throws std::invalid_argument unless points, the first of which is the caller's number `start`,
// are in range.
void require_in_range(const MapSpace& space, const std::int32_t* points, std::int64_t count,
                      std::int64_t start);

// Returns N; throws std::invalid_argument unless the points are int32[N, D] in C order.
std::int64_t count_points(const MapSpace& space, const pybind11::array& points);

// Copies points from `start` on into `block`: the caller may change its array while they are
// evaluated. Throws std::invalid_argument unless they are in range.
void copy_points(const MapSpace& space, const pybind11::array& points, std::int64_t start,
                 std::int64_t count, std::vector<std::int32_t>& block);

}  // namespace gym::python
