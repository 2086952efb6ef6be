// Which choices leave a valid mapping, on behalf of Python.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../evaluate/masks.hpp"
#include "../evaluate/models.hpp"
#include "arrays.hpp"
#include "hierarchy_space.hpp"
#include "problem.hpp"

namespace gym::python {

using Uniforms = py::array_t<double, py::array::c_style>;

// A mask of the choices of one parameter; entries of the point that are open are -1.
inline py::array_t<bool> allowed(MasksOfVectors& masks, const PointArray& given,
                                 std::size_t column) {
  const std::vector<VectorSpace::Parameter>& parameters = masks.parameters();
  std::vector<std::int32_t> point(given.data(), given.data() + given.size());
  bool inside = point.size() == parameters.size() && column < point.size();
  for (std::size_t i = 0; inside && i < point.size(); ++i) {
    inside = MasksOfVectors::kOpen <= point[i] && point[i] < parameters[i].choices;
  }
  if (!inside) throw std::invalid_argument("no partial point of this space");
  const std::vector<bool> mask = masks.allowed(std::move(point), column);
  py::array_t<bool> array(std::ssize(mask));
  std::copy(mask.begin(), mask.end(), array.mutable_data());
  return array;
}

// Whether all choices of each of int32[N, D] points are allowed.
inline py::array_t<bool> allows(MasksOfVectors& masks, const py::array& array) {
  const VectorSpace space{masks.parameters()};
  const PointsOf<VectorSpace> points = points_of(space, array);
  require_in_range(points);
  py::array_t<bool> found(points.count);
  for (std::int64_t i = 0; i < points.count; ++i) {
    found.mutable_data()[i] = masks.allows(points[i]);
  }
  return found;
}

// Points drawn by a row of numbers in [0, 1) each.
inline PointArray draw(MasksOfVectors& masks, const Uniforms& uniforms) {
  const auto width = static_cast<py::ssize_t>(masks.parameters().size());
  if (uniforms.ndim() != 2 || uniforms.shape(1) != width) {
    throw std::invalid_argument("a point is drawn by " + std::to_string(width) + " numbers, got " +
                                described(uniforms));
  }
  if (masks.none()) throw std::invalid_argument("no mapping of this space fits the buffers");
  PointArray points = new_array<std::int32_t>(Shape<2>{uniforms.shape(0), width});
  const double* uniform = uniforms.data();
  std::int32_t* point = points.mutable_data();
  for (py::ssize_t i = 0; i < uniforms.shape(0); ++i) {
    masks.draw(uniform + i * width, point + i * width);
  }
  return points;
}

// Of accelerators with any memories: only tiles need room, and a fan-out never lacks it.
class HierarchyMasks : public MasksOfVectors {
 public:
  HierarchyMasks(const HierarchySpace& space, const hierarchy::ScorerSpec& spec)
      : MasksOfVectors(space.space.parameters), space_(space.space), scorer_(spec) {
    for (const hierarchy::Space::Group& group : space_.groups) {
      for (const Choice& tile : group.memory.sizes) set(tile, Needs::rise);
    }
    // Else the least tiles need not be the ones that fit.
    if (space_.tiles_decide) begin();
  }

 private:
  bool may_fit(const std::int32_t* point) override { return scorer_.fits(space_, point); }

  hierarchy::Space space_;
  hierarchy::Scorer scorer_;
};

inline void bind_masks(py::module_& module) {
  py::class_<MasksOfVectors>(module, "MasksOfVectors")
      .def("allowed", &allowed, py::arg("point"), py::arg("column"))
      .def("allows", &allows, py::arg("points"))
      .def("draw", &draw, py::arg("uniforms"));
  py::class_<Masks, MasksOfVectors>(module, "Masks")
      .def(py::init([](const std::string& model, const NamedLayer& layer, const Hardware& hardware,
                       const NamedSpace& space) {
             return std::make_unique<Masks>(make_model(model, layer.layer, hardware), space.space);
           }),
           py::arg("model"), py::arg("layer"), py::arg("hardware"), py::arg("space"));
  py::class_<HierarchyMasks, MasksOfVectors>(module, "HierarchyMasks")
      .def(py::init([](const HierarchySpace& space, const std::array<std::int64_t, kLoops>& extents,
                       const std::array<std::int64_t, 2>& strides,
                       const std::array<std::int64_t, 2>& dilations,
                       const std::vector<py::dict>& elements, const py::dict& mac,
                       const py::dict& options) {
        return std::make_unique<HierarchyMasks>(
            space, Hierarchy::spec(extents, strides, dilations, elements, mac, options));
      }));
}

}  // namespace gym::python
