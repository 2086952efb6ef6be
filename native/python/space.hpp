// A map space whose mappings are read and written by name.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../core/map_space.hpp"
#include "arrays.hpp"
#include "problem.hpp"
#include "pybind.hpp"

namespace gym::python {

class NamedSpace {
 public:
  using Factors = py::array_t<std::uint64_t, py::array::c_style>;
  using ChoiceSpec = std::pair<int, std::vector<std::int32_t>>;
  using LevelSpec = std::tuple<int, ChoiceSpec, std::vector<ChoiceSpec>>;

  NamedSpace(const NamedLayer& layer, const NamedValues& parameters,
             const std::vector<std::string>& dims, const std::array<LevelSpec, 2>& levels,
             const ChoiceSpec& cluster)
      : layer_(layer) {
    for (const auto& [name, choices] : parameters) space.parameters.push_back({name, choices});
    for (const std::string& name : dims) space.dims.push_back(layer.dim(name));
    for (std::size_t j = 0; j < levels.size(); ++j) {
      const auto& [order, parallel, tiles] = levels[j];
      space.levels[j] = {order, {parallel.first, parallel.second}, {}};
      for (const ChoiceSpec& tile : tiles) space.levels[j].tiles.push_back(sizes(tile));
    }
    space.cluster = sizes(cluster);
    clips_.resize(parameters.size());
    std::iota(clips_.begin(), clips_.end(), py::ssize_t{0});
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const int outer = space.levels[0].tiles[d].column;
      const int inner = space.levels[1].tiles[d].column;
      if (inner >= 0 && outer >= 0) clips_[inner] = outer;
    }
  }

  std::vector<NamedDirective> decode(const py::object& values) const {
    const PointArray point = to_point(space, values);
    require_in_range(Points{space, point.data(), 1});
    Mapping mapping;
    space.decode(point.data(), mapping);
    return layer_.write(mapping);
  }

  // Numbers that are equal where mappings are: sums of what points choose, inner tiles clipped to
  // outer ones, times factors.
  py::array_t<std::uint64_t> identities(const AnyIntegers& points, const Factors& factors) const {
    const auto width = std::ssize(space.parameters);
    if (points.ndim() != 2 || points.shape(1) != width || factors.size() != width) {
      throw std::invalid_argument("points have " + std::to_string(width) + " entries, got " +
                                  described(points));
    }
    auto numbers = new_array<std::uint64_t>(Shape<1>{points.shape(0)});
    for (py::ssize_t i = 0; i < points.shape(0); ++i) {
      const std::int64_t* point = points.data(i, 0);
      std::uint64_t number = 0;
      for (py::ssize_t j = 0; j < width; ++j) {
        number += static_cast<std::uint64_t>(std::min(point[j], point[clips_[j]])) * factors.at(j);
      }
      numbers.mutable_at(i) = number;
    }
    return numbers;
  }

  MapSpace space;

 private:
  static Choice sizes(const ChoiceSpec& choice) {
    for (const std::int32_t size : choice.second) {
      if (size < 1) throw py::value_error("size " + std::to_string(size) + ": allowed: from 1 on");
    }
    return {choice.first, choice.second};
  }

  NamedLayer layer_;
  // Of each column the one that clips it: of inner tiles that of the outer one, else itself.
  std::vector<py::ssize_t> clips_;
};

inline void bind_space(py::module_& module) {
  py::class_<NamedSpace>(module, "MapSpace")
      .def(py::init<const NamedLayer&, const NamedValues&, const std::vector<std::string>&,
                    const std::array<NamedSpace::LevelSpec, 2>&, const NamedSpace::ChoiceSpec&>(),
           py::arg("layer"), py::arg("parameters"), py::arg("dims"), py::arg("levels"),
           py::arg("cluster"))
      .def("decode", &NamedSpace::decode, py::arg("point"))
      .def("identities", &NamedSpace::identities, py::arg("points"), py::arg("factors"))
      .def(
          "to_points",
          [](const NamedSpace& self, const py::object& values, py::ssize_t count) {
            return to_points(self.space, values, count);
          },
          py::arg("values"), py::arg("count"));
}

}  // namespace gym::python
