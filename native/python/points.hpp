// Points as numpy has them: what is accepted, and what is said of what is not.
#pragma once

#include <pybind11/numpy.h>

#include <cstdint>

#include "../map_space.hpp"

namespace gym::python {

using Points = pybind11::array_t<std::int32_t, pybind11::array::c_style>;

// A copy of any D integers, or N times D of them, as int32[D] or int32[N, D], whose range is left
// to be checked. Throws std::invalid_argument else, and of what int32 cannot hold.
Points to_point(const MapSpace& space, const pybind11::object& values);
Points to_points(const MapSpace& space, const pybind11::object& values, pybind11::ssize_t count);

// Throws std::invalid_argument, which names the entry of that index and value.
[[noreturn]] void refuse(const MapSpace& space, std::int64_t index, std::int32_t value);
// Throws the same if one of the points is out of range.
void require_in_range(const MapSpace& space, const std::int32_t* points, std::int64_t count);

// Returns N; throws std::invalid_argument unless the points are int32[N, D] in C order.
std::int64_t count_points(const MapSpace& space, const pybind11::array& points);

}  // namespace gym::python
