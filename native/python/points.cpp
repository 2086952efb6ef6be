#include "points.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "bind.hpp"

namespace gym::python {

namespace py = pybind11;

namespace {

using Points = py::array_t<std::int32_t, py::array::c_style>;
using AnyIntegers = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

std::string not_points(const MapSpace& space, const py::array& points) {
  return "points must be a C-contiguous int32 array of shape [N, " +
         std::to_string(space.parameters.size()) + "], got " +
         py::str(points.dtype()).cast<std::string>() + " of shape " +
         py::str(points.attr("shape")).cast<std::string>();
}

bool in_range(const MapSpace& space, const std::vector<std::int32_t>& block) {
  bool inside = true;
  for (auto entry = block.begin(); entry != block.end();) {
    for (const MapSpace::Parameter& parameter : space.parameters) {
      inside &= *entry >= 0 && *entry < parameter.choices;
      ++entry;
    }
  }
  return inside;
}

std::string out_of_range(const MapSpace& space, const std::vector<std::int32_t>& block,
                         std::int64_t start) {
  const auto width = static_cast<std::int64_t>(space.parameters.size());
  const std::int64_t bad =
      space.first_out_of_range(block.data(), static_cast<std::int64_t>(block.size()));
  const auto& parameter = space.parameters[static_cast<std::size_t>(bad % width)];
  return "point " + std::to_string(start + bad / width) + ": " + parameter.name + " = " +
         std::to_string(block[static_cast<std::size_t>(bad)]) + " is not in 0.." +
         std::to_string(parameter.choices - 1);
}

// What int32 cannot hold becomes one of its ends, which are out of every range: nothing wraps into
// one.
py::array_t<std::int32_t> to_int32(const AnyIntegers& values) {
  using Limits = std::numeric_limits<std::int32_t>;
  py::array_t<std::int32_t> points(
      std::vector<py::ssize_t>(values.shape(), values.shape() + values.ndim()));
  std::transform(values.data(), values.data() + values.size(), points.mutable_data(),
                 [](std::int64_t value) {
                   return static_cast<std::int32_t>(
                       std::clamp<std::int64_t>(value, Limits::min(), Limits::max()));
                 });
  return points;
}

}  // namespace

std::int64_t count_points(const MapSpace& space, const py::array& points) {
  if (!py::isinstance<Points>(points) || points.ndim() != 2 ||
      points.shape(1) != static_cast<py::ssize_t>(space.parameters.size())) {
    throw std::invalid_argument(not_points(space, points));
  }
  return points.shape(0);
}

void copy_points(const MapSpace& space, const py::array& points, std::int64_t start,
                 std::int64_t count, std::vector<std::int32_t>& block) {
  const auto width = static_cast<std::int64_t>(space.parameters.size());
  const auto* data = static_cast<const std::int32_t*>(points.data()) + start * width;
  block.assign(data, data + count * width);
  if (!in_range(space, block)) throw std::invalid_argument(out_of_range(space, block, start));
}

void bind_points(py::module_& module) { module.def("to_int32", &to_int32, py::arg("values")); }

}  // namespace gym::python
