// A map space whose mappings are read and written by name.
#pragma once

#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../core/map_space.hpp"
#include "names.hpp"
#include "points.hpp"
#include "pybind.hpp"

namespace gym::python {

class NamedSpace {
 public:
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
  }

  std::vector<NamedDirective> decode(const py::object& values) const {
    const PointArray point = to_point(space, values);
    require_in_range(Points{space, point.data(), 1});
    Mapping mapping;
    space.decode(point.data(), mapping);
    return layer_.write(mapping);
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
};

inline void bind_space(py::module_& module) {
  py::class_<NamedSpace>(module, "MapSpace")
      .def(py::init<const NamedLayer&, const NamedValues&, const std::vector<std::string>&,
                    const std::array<NamedSpace::LevelSpec, 2>&, const NamedSpace::ChoiceSpec&>(),
           py::arg("layer"), py::arg("parameters"), py::arg("dims"), py::arg("levels"),
           py::arg("cluster"))
      .def("decode", &NamedSpace::decode, py::arg("point"))
      .def(
          "to_points",
          [](const NamedSpace& self, const py::object& values, py::ssize_t count) {
            return to_points(self.space, values, count);
          },
          py::arg("values"), py::arg("count"));
}

}  // namespace gym::python
