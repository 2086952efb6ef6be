#include "points.hpp"

#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>

namespace gym::python {

namespace py = pybind11;

using Points = py::array_t<std::int32_t, py::array::c_style>;

PointBatch copy_points(const MapSpace& space, const py::array& points) {
  if (!py::isinstance<Points>(points) || points.ndim() != 2 ||
      points.shape(1) != static_cast<py::ssize_t>(space.parameters.size())) {
    throw std::invalid_argument("points must be a C-contiguous int32 array of shape [N, " +
                                std::to_string(space.parameters.size()) + "], got " +
                                py::str(points.dtype()).cast<std::string>() + " of shape " +
                                py::str(points.attr("shape")).cast<std::string>());
  }
  const auto* data = static_cast<const std::int32_t*>(points.data());
  PointBatch batch{{data, data + points.size()}, points.shape(0)};
  const std::int64_t bad = space.first_out_of_range(batch.data.data(), points.size());
  if (bad >= 0) {
    const auto width = static_cast<std::int64_t>(space.parameters.size());
    const auto& parameter = space.parameters[static_cast<std::size_t>(bad % width)];
    throw std::invalid_argument("point " + std::to_string(bad / width) + ": " + parameter.name +
                                " = " + std::to_string(batch.data[bad]) + " is not in 0.." +
                                std::to_string(parameter.choices - 1));
  }
  return batch;
}

}  // namespace gym::python
