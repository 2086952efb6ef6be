// Points as numpy has them: what is accepted, and what is said of what is not.
#pragma once

#include <pybind11/numpy.h>

#include <cstdint>
#include <vector>

#include "../map_space.hpp"

namespace gym::python {

// Checked points, copied: the caller may change its array while the batch runs.
struct PointBatch {
  std::vector<std::int32_t> data;
  std::int64_t count;
};

// Throws std::invalid_argument unless the points are int32[N, D], in C order and in range.
PointBatch copy_points(const MapSpace& space, const pybind11::array& points);

}  // namespace gym::python
