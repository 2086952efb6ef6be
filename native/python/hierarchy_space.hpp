// Spaces of mappings on accelerators with any memories, and what evaluates their points.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../evaluate/batch_of.hpp"
#include "../hierarchy/model.hpp"
#include "arrays.hpp"
#include "evaluator.hpp"
#include "hierarchy.hpp"
#include "problem.hpp"

namespace gym::python {

class HierarchySpace {
 public:
  using ChoiceSpec = NamedSpace::ChoiceSpec;
  using Dims = hierarchy::Space::Part::Dims;
  // Element, column of its order, dimensions that come first, that it orders, and last, sizes.
  using PartSpec = std::tuple<int, int, std::array<Dims, 3>, std::vector<ChoiceSpec>>;
  // A memory, and the fan-outs below it with the units of each.
  using GroupSpec = std::pair<PartSpec, std::vector<std::pair<PartSpec, std::int64_t>>>;

  HierarchySpace(const NamedValues& parameters, const std::vector<int>& dims,
                 const std::vector<std::int64_t>& extents, const std::vector<GroupSpec>& groups,
                 const std::vector<std::pair<int, std::uint32_t>>& stays) {
    for (const auto& [name, choices] : parameters) space.parameters.push_back({name, choices});
    for (const int dim : dims) space.dims.push_back(static_cast<LoopId>(dim));
    space.extents = extents;
    for (const auto& [memory, fanouts] : groups) {
      auto& group = space.groups.emplace_back(hierarchy::Space::Group{part(memory), {}});
      for (const auto& [fanout, size] : fanouts) group.fanouts.push_back({part(fanout), size});
      space.uncut |= !group.memory.uncut.empty();
      for (const hierarchy::Space::Fanout& each : group.fanouts) {
        for (const std::uint8_t d : group.memory.uncut) {
          space.tiles_decide &= std::ranges::find(each.part.uncut, d) != each.part.uncut.end();
        }
      }
    }
    for (const auto& [element, indexing] : stays) space.stays.push_back({element, indexing});
    space.tiles_decide &= stays.empty();
  }

  std::vector<Entries> decode(const py::object& values) const {
    const PointArray point = to_point(space, values);
    require_in_range(PointsOf<hierarchy::Space>{space, point.data(), 1});
    std::vector<hierarchy::MappedLoop> loops;
    space.decode(point.data(), loops);
    std::vector<Entries> found;
    for (const auto& [element, dim, tile] : loops) found.push_back({element, dim, tile});
    return found;
  }

  // The point of a mapping, whose loops are in the order of the elements.
  PointArray encode(const std::vector<Entries>& loops) const {
    auto point = new_array<std::int32_t>(Shape<1>{width()});
    space.encode(mapping_of(loops), point.mutable_data());
    return point;
  }

  // One point for each mapping, of int32[N, D] in range.
  PointArray canonical(const py::array& array) const {
    const auto points = points_of(space, array);
    require_in_range(points);
    auto found = new_array<std::int32_t>(Shape<2>{static_cast<py::ssize_t>(points.count), width()});
    std::int32_t* to = found.mutable_data();
    std::vector<hierarchy::MappedLoop> loops;
    for (std::int64_t i = 0; i < points.count; ++i, to += width()) {
      space.decode(points[i], loops);
      space.encode(loops, to);
    }
    return found;
  }

  hierarchy::Space space;

 private:
  py::ssize_t width() const { return std::ssize(space.parameters); }

  static hierarchy::Space::Part part(const PartSpec& given) {
    const auto& [element, order, loops, sizes] = given;
    hierarchy::Space::Part part{element, order, loops[0], loops[1], loops[2], {}, {}};
    for (const auto& [column, values] : sizes) part.sizes.push_back({column, values});
    for (std::uint8_t d = 0; d < sizes.size(); ++d) {
      const auto has = [d](const Dims& dims) { return std::ranges::find(dims, d) != dims.end(); };
      if (std::ranges::none_of(loops, has)) part.uncut.push_back(d);
    }
    return part;
  }
};

class HierarchyEvaluator : public PointEvaluator<BatchOf<hierarchy::Scorer>, HierarchySpace> {
 public:
  using PointEvaluator::PointEvaluator;

  // A row of metrics and the status of one mapping, from a space or not.
  py::tuple evaluate_mapping(const std::vector<Entries>& loops) {
    auto row = new_array<double>(Shape<1>{kMetrics});
    auto& metrics = *reinterpret_cast<Metrics*>(row.mutable_data());
    const Status status = batch_.with_scorer([&](hierarchy::Scorer& scorer) {
      return scorer.score(mapping_of(loops), Detail::rows, metrics);
    });
    return py::make_tuple(std::move(row), kStatusNames[static_cast<std::size_t>(status)]);
  }

  // How much each of int32[N, D] points lacks, float64[N]; 0 if it is valid.
  py::array_t<double> violations(const HierarchySpace& space, const py::array& array) {
    const auto points = points_of(space.space, array);
    require_in_range(points);
    py::array_t<double> found(points.count);
    double* violation = found.mutable_data();
    batch_.with_scorer([&](hierarchy::Scorer& scorer) {
      for (std::int64_t i = 0; i < points.count; ++i) {
        violation[i] = scorer.violation(space.space, points[i]);
      }
    });
    return found;
  }
};

inline void bind_hierarchy_space(py::module_& module) {
  using Part = HierarchySpace::GroupSpec;
  py::class_<HierarchySpace>(module, "HierarchySpace")
      .def(py::init<const NamedValues&, const std::vector<int>&, const std::vector<std::int64_t>&,
                    const std::vector<Part>&, const std::vector<std::pair<int, std::uint32_t>>&>(),
           py::arg("parameters"), py::arg("dims"), py::arg("extents"), py::arg("groups"),
           py::arg("stays"))
      .def("decode", &HierarchySpace::decode, py::arg("point"))
      .def("encode", &HierarchySpace::encode, py::arg("loops"))
      .def("canonical", &HierarchySpace::canonical, py::arg("points"))
      .def_property_readonly("tiles_decide",
                             [](const HierarchySpace& self) { return self.space.tiles_decide; })
      .def(
          "to_points",
          [](const HierarchySpace& self, const py::object& values, py::ssize_t count) {
            return to_points(self.space, values, count);
          },
          py::arg("values"), py::arg("count"));
  py::class_<HierarchyEvaluator> bound(module, "HierarchyBatchEvaluator");
  bound
      .def(py::init([](const std::array<std::int64_t, kLoops>& extents,
                       const std::array<std::int64_t, 2>& strides,
                       const std::array<std::int64_t, 2>& dilations,
                       const std::vector<py::dict>& elements, const py::dict& mac,
                       const py::dict& options) {
             return std::make_unique<HierarchyEvaluator>(
                 Hierarchy::spec(extents, strides, dilations, elements, mac, options));
           }),
           py::arg("extents"), py::arg("strides"), py::arg("dilations"), py::arg("elements"),
           py::arg("mac"), py::arg("options"))
      .def("evaluate_mapping", &HierarchyEvaluator::evaluate_mapping, py::arg("loops"))
      .def("violations", &HierarchyEvaluator::violations, py::arg("space"), py::arg("points"));
  bind_points(bound);
}

}  // namespace gym::python
