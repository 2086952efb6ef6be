// Proposals of a learned policy, on behalf of Python.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../evaluate/models.hpp"
#include "../prior/construction.hpp"
#include "../prior/proposer.hpp"
#include "../prior/variants.hpp"
#include "arrays.hpp"
#include "moves.hpp"
#include "problem.hpp"

namespace gym::python {

using prior::Networks;
using prior::Proposer;

using FloatArray = py::array_t<float, py::array::c_style>;

inline Networks make_networks(const std::map<std::string, FloatArray>& arrays) {
  const auto array = [&](const char* name) -> const FloatArray& {
    const auto found = arrays.find(name);
    if (found == arrays.end()) throw std::invalid_argument("there is no " + std::string(name));
    return found->second;
  };
  const auto width = [&](const char* name, py::ssize_t axis) {
    const FloatArray& from = array(name);
    if (from.ndim() <= axis) throw std::invalid_argument(std::string(name) + " lacks an axis");
    return from.shape(axis);
  };
  const py::ssize_t context = width("context", 1);
  const py::ssize_t hidden = width("hidden", 1);
  const py::ssize_t mixed = width("hidden", 2);
  // Each has an entry for every decision, of this shape.
  const auto numbers = [&](const char* name, std::vector<py::ssize_t> shape) {
    const FloatArray& from = array(name);
    shape.insert(shape.begin(), prior::kDecisions);
    if (!std::equal(shape.begin(), shape.end(), from.shape(), from.shape() + from.ndim())) {
      throw std::invalid_argument(std::string(name) +
                                  " does not fit the others: " + described(from));
    }
    return std::vector<float>(from.data(), from.data() + from.size());
  };
  if (arrays.size() > 7) throw std::invalid_argument("there are other arrays");
  const auto size = [](py::ssize_t number) { return static_cast<std::size_t>(number); };
  return {{size(context), size(hidden), size(mixed)},
          {numbers("context", {context, hidden}), numbers("state", {prior::kStateSize, hidden}),
           numbers("bias", {hidden}), numbers("hidden", {hidden, mixed}),
           numbers("mixed_bias", {mixed}), numbers("option", {prior::kFeatures, mixed}),
           numbers("score", {mixed})}};
}

template <typename T>
py::array_t<T> as_array(const std::vector<T>& numbers, std::vector<py::ssize_t> shape) {
  return py::array_t<T>(std::move(shape), numbers.data());
}

inline py::tuple propose(Proposer& proposer, const std::shared_ptr<Networks>& networks,
                         const py::array_t<double, py::array::c_style>& uniforms,
                         float temperature) {
  const auto steps = static_cast<py::ssize_t>(proposer.steps());
  if (uniforms.ndim() != 2 || uniforms.shape(1) != steps) {
    throw std::invalid_argument("a point is drawn by " + std::to_string(steps) + " numbers, got " +
                                described(uniforms));
  }
  if (networks->widths().context != proposer.context().size()) {
    throw std::invalid_argument("the networks read another context");
  }
  const auto width = static_cast<py::ssize_t>(proposer.space().parameters.size());
  PointArray points = new_array<std::int32_t>(Shape<2>{uniforms.shape(0), width});
  auto logarithms = new_array<double>(Shape<1>{uniforms.shape(0)});
  proposer.propose(networks, uniforms.data(), uniforms.shape(0), temperature, points.mutable_data(),
                   logarithms.mutable_data());
  return py::make_tuple(points, logarithms);
}

inline py::tuple trace(Proposer& proposer, const PointArray& given) {
  const Points checked = points_of(proposer.space(), given);
  require_in_range(checked);
  PointArray points = new_array<std::int32_t>(Shape<2>{given.shape(0), given.shape(1)});
  std::copy(given.data(), given.data() + given.size(), points.mutable_data());
  const prior::Rows rows = proposer.trace(points.mutable_data(), points.shape(0));
  const auto count = std::ssize(rows.chosen);
  const auto options = std::ssize(rows.features) / prior::kFeatures;
  return py::make_tuple(points, as_array(rows.mapping, {count}), as_array(rows.decision, {count}),
                        as_array(rows.chosen, {count}), as_array(rows.options, {count}),
                        as_array(rows.states, {count, prior::kStateSize}),
                        as_array(rows.features, {options, prior::kFeatures}));
}

// Copies that make mappings decision by decision.
class NamedConstruction {
 public:
  NamedConstruction(prior::Construction::Grounds grounds, std::int64_t count)
      : construction_(std::move(grounds), count) {}

  // Begins a mapping in copies int64[K], each on one of the grounds int64[K].
  void begin(const Indices& copies, const Indices& grounds) {
    require_shape(grounds, {copies.size()});
    const auto chosen = span_of(copies, count()), on = span_of(grounds, construction_.grounds());
    for (std::size_t k = 0; k < chosen.size(); ++k) construction_.begin(chosen[k], on[k]);
  }
  // Takes options int64[K] in copies int64[K]; returns which mappings are complete, bool[K].
  py::array_t<bool> choose(const Indices& copies, const Indices& options) {
    require_shape(options, {copies.size()});
    const auto chosen = span_of(copies, count()), taken = span_of(options, prior::kMaxOptions);
    auto complete = new_array<bool>(Shape<1>{copies.size()});
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      require_begun(chosen[k]);
      construction_.choose(chosen[k], taken[k]);
      complete.mutable_data()[k] = construction_.options(chosen[k]) == 0;
    }
    return complete;
  }
  // Of copies int64[K]: what is seen, float32[K, n], which options there are, bool[K, options], and
  // the points so far, int32[K, D].
  std::int64_t width() const { return construction_.seen_width(); }
  py::array_t<float> seen(const Indices& copies) const {
    return rows<float>(copies, construction_.seen_width(),
                       [&](auto copy, float* to) { construction_.see(copy, to); });
  }
  py::array_t<bool> masks(const Indices& copies) const {
    return rows<bool>(copies, prior::kMaxOptions, [&](auto copy, bool* to) {
      const int options = construction_.options(copy);
      std::fill_n(std::fill_n(to, options, true), prior::kMaxOptions - options, false);
    });
  }
  PointArray points(const Indices& copies) const {
    return rows<std::int32_t>(copies, construction_.width(), [&](auto copy, std::int32_t* to) {
      std::copy_n(construction_.point(copy), construction_.width(), to);
    });
  }

 private:
  std::int64_t count() const { return construction_.count(); }
  void require_begun(std::int64_t copy) const {
    if (!construction_.begun(copy)) throw std::invalid_argument("a copy has no ground yet");
  }
  template <typename T, typename Write>
  py::array_t<T, py::array::c_style> rows(const Indices& copies, py::ssize_t width,
                                          const Write& write) const {
    auto found = new_array<T>(Shape<2>{copies.size(), width});
    T* to = found.mutable_data();
    for (const std::int64_t copy : span_of(copies, count())) {
      require_begun(copy);
      write(copy, to);
      to += width;
    }
    return found;
  }

  prior::Construction construction_;
};

// Draws so many variants of rows of choices, the best first.
inline PointArray draw_variants(const prior::Variants& variants, const AnyIntegers& best,
                                std::size_t count, const py::capsule& bits) {
  const std::vector<VectorSpace::Parameter>& parameters = variants.space().parameters;
  const auto width = std::ssize(parameters);
  bool inside = best.ndim() == 2 && best.shape(0) > 0 && best.shape(1) == width;
  for (py::ssize_t i = 0; inside && i < best.size(); ++i) {
    inside = 0 <= best.data()[i] && best.data()[i] < parameters[i % width].choices;
  }
  if (!inside) throw std::invalid_argument("no vectors of this space: " + described(best));
  PointArray drawn = new_array<std::int32_t>(Shape<2>{static_cast<py::ssize_t>(count), width});
  Random random = random_of(bits);
  variants.draw(best.data(), static_cast<std::size_t>(best.shape(0)), count, random,
                drawn.mutable_data());
  return drawn;
}

inline py::array_t<std::int64_t> varied(const PointArray& points,
                                        const std::vector<std::vector<std::size_t>>& parts,
                                        const py::array_t<double, py::array::c_style>& logarithms,
                                        double common, std::size_t places) {
  const auto width = points.ndim() == 2 ? static_cast<std::size_t>(points.shape(1)) : 0;
  for (const std::vector<std::size_t>& part : parts) {
    for (const std::size_t column : part) {
      if (column >= width) throw std::invalid_argument("no such column of " + described(points));
    }
  }
  if (width == 0 || points.shape(0) != logarithms.size()) {
    throw std::invalid_argument("a logarithm for each of " + described(points));
  }
  const std::vector<std::int64_t> order =
      prior::varied(points.data(), static_cast<std::size_t>(points.shape(0)), width, parts,
                    logarithms.data(), common, places);
  return as_array(order, {std::ssize(order)});
}

inline void bind_prior(py::module_& module) {
  module.attr("PRIOR_DECISIONS") = int{prior::kDecisions};
  module.attr("PRIOR_STATE") = prior::kStateSize;
  module.attr("PRIOR_FEATURES") = prior::kFeatures;
  module.attr("PRIOR_OPTIONS") = prior::kMaxOptions;
  py::class_<Networks, std::shared_ptr<Networks>>(module, "PriorNetworks")
      .def(py::init(&make_networks), py::arg("arrays"));
  py::class_<Proposer, std::shared_ptr<Proposer>>(module, "PriorProposer")
      .def(py::init([](const std::string& model, const NamedLayer& layer, const Hardware& hardware,
                       const NamedSpace& space, const FloatArray& context) {
             return std::make_shared<Proposer>(
                 make_model(model, layer.layer, hardware), space.space, layer.layer, hardware,
                 std::vector<float>(context.data(), context.data() + context.size()));
           }),
           py::arg("model"), py::arg("layer"), py::arg("hardware"), py::arg("space"),
           py::arg("context"))
      .def_property_readonly("steps", &Proposer::steps)
      .def("propose", &propose, py::arg("networks"), py::arg("uniforms"), py::arg("temperature"))
      .def("trace", &trace, py::arg("points"));
  py::class_<NamedConstruction>(module, "Construction")
      .def(py::init<prior::Construction::Grounds, std::int64_t>(), py::arg("grounds"),
           py::arg("count"))
      .def("begin", &NamedConstruction::begin, py::arg("copies"), py::arg("grounds"))
      .def("choose", &NamedConstruction::choose, py::arg("copies"), py::arg("options"))
      .def_property_readonly("width", &NamedConstruction::width)
      .def("seen", &NamedConstruction::seen, py::arg("copies"))
      .def("masks", &NamedConstruction::masks, py::arg("copies"))
      .def("points", &NamedConstruction::points, py::arg("copies"))
      // Grounds are shared: decisions do not change them.
      .def("__deepcopy__",
           [](const NamedConstruction& from, const py::dict&) { return NamedConstruction(from); });
  py::class_<prior::Variants>(module, "Variants")
      .def(py::init([](const NamedSpace& space, const std::vector<std::int64_t>& extents,
                       std::int64_t pes) {
             if (extents.size() != space.space.dims.size() || pes < 1 ||
                 std::any_of(extents.begin(), extents.end(), [](auto each) { return each < 1; })) {
               throw std::invalid_argument("every dimension has an extent, from 1 on");
             }
             return prior::Variants(space.space, extents, pes);
           }),
           py::arg("space"), py::arg("extents"), py::arg("pes"))
      .def("draw", &draw_variants, py::arg("best"), py::arg("count"), py::arg("bits"));
  module.def("varied", &varied, py::arg("points"), py::arg("parts"), py::arg("logarithms"),
             py::arg("common"), py::arg("places"));
}

}  // namespace gym::python
