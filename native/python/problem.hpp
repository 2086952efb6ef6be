// Layers, mappings, accelerators and map spaces, by the names that Python has for them.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../core/area_power.hpp"
#include "../core/hardware.hpp"
#include "../core/layer.hpp"
#include "../core/map_space.hpp"
#include "../exact/timer.hpp"
#include "arrays.hpp"

namespace gym::python {

using NamedValues = std::vector<std::pair<std::string, std::int32_t>>;
using NamedDirective = std::tuple<std::string, std::string, std::int32_t, std::int32_t>;

// Names as a program has them: looking one up in a dictionary compares no letters.
template <typename Names>
std::vector<py::str> interned(const Names& names) {
  std::vector<py::str> result;
  for (const std::string_view name : names) {
    PyObject* text = PyUnicode_InternFromString(std::string(name).c_str());
    if (text == nullptr) throw py::error_already_set();
    result.push_back(py::reinterpret_steal<py::str>(text));
  }
  return result;
}

inline constexpr std::array<std::string_view, kFirstOtherDim> kDimNames = {
    "C", "G", "K", "M", "N", "R", "S", "X", "Y", "X'", "Y'", "P", "Q"};
inline constexpr std::array<std::string_view, 5> kOperatorNames = {"CONV", "TRCONV", "DSCONV",
                                                                   "NGCONV", "GEMM"};
inline constexpr std::array<std::string_view, 4> kKindNames = {"TemporalMap", "SpatialMap",
                                                               "Cluster", "malformed"};

template <std::size_t n>
std::size_t index_of(const std::array<std::string_view, n>& names, std::string_view name,
                     const char* what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw std::invalid_argument("unknown " + std::string(what) + " '" + std::string(name) + "'");
  }
  return static_cast<std::size_t>(found - names.begin());
}

// A layer and the names of its dimensions, in which mappings are read and written.
class NamedLayer {
 public:
  NamedLayer(const std::string& op, const NamedValues& extents, const NamedValues& strides)
      : names_(kDimNames.begin(), kDimNames.end()) {
    layer.op = static_cast<Operator>(index_of(kOperatorNames, op, "operator"));
    for (const auto& [name, value] : extents) layer.extents.push_back({intern(name), value});
    for (const auto& [name, value] : strides) layer.stride[intern(name)] = value;
  }

  Dim dim(std::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    return found == names_.end() ? kUnknownDim : static_cast<Dim>(found - names_.begin());
  }
  const std::string& name(Dim dim) const { return names_[dim]; }

  Mapping read(const std::vector<NamedDirective>& directives) const {
    Mapping mapping;
    for (const auto& [kind, name, size, offset] : directives) {
      const auto id = static_cast<Directive::Kind>(index_of(kKindNames, kind, "directive"));
      const bool loop = id == Directive::Kind::temporal || id == Directive::Kind::spatial;
      mapping.push_back({id, loop ? dim(name) : Dim{0}, size, offset});
    }
    return mapping;
  }

  std::vector<NamedDirective> write(const Mapping& mapping) const {
    std::vector<NamedDirective> directives;
    for (const Directive& each : mapping) {
      const bool cluster = each.kind == Directive::Kind::cluster;
      directives.emplace_back(kKindNames[static_cast<std::size_t>(each.kind)],
                              cluster ? "" : names_[each.dim], each.size, each.offset);
    }
    return directives;
  }

  Layer layer;

 private:
  Dim intern(const std::string& name) {
    const Dim known = dim(name);
    if (known != kUnknownDim) return known;
    if (names_.size() >= kUnknownDim) throw std::invalid_argument("too many dimensions");
    names_.push_back(name);
    return static_cast<Dim>(names_.size() - 1);
  }

  std::vector<std::string> names_;
};

inline py::dict layer_facts(const NamedLayer& layer) {
  const auto nest = loop_nest(layer.layer);
  if (!nest) throw std::invalid_argument("the layer has no outputs");
  py::dict facts;
  facts["macs"] = nest->macs();
  facts["input_words"] = nest->words(kInput);
  facts["filter_words"] = nest->words(kFilter);
  facts["output_words"] = nest->words(kOutput);
  facts["output_rows"] = nest->extent[kLoopP];
  facts["output_columns"] = nest->extent[kLoopQ];
  return facts;
}

inline void bind_layer(py::module_& module) {
  py::class_<NamedLayer>(module, "Layer")
      .def(py::init<const std::string&, const NamedValues&, const NamedValues&>(),
           py::arg("operator"), py::arg("extents"), py::arg("strides"))
      .def("facts", &layer_facts);
}

inline Hardware make_hardware(std::int32_t num_pes, std::int32_t simd_lanes, std::int32_t noc_bw,
                              std::int64_t noc_latency, std::int32_t offchip_bw,
                              std::optional<std::int64_t> l1_bytes,
                              std::optional<std::int64_t> l2_bytes, std::int64_t word_bytes,
                              double mac_nj, double l1_macs, double l2_macs, double noc_macs,
                              double offchip_macs, double pe_um2, double l1_um2, double l2_um2) {
  return {num_pes,
          simd_lanes,
          noc_bw,
          noc_latency,
          offchip_bw,
          l1_bytes.value_or(kUnlimitedBytes),
          l2_bytes.value_or(kUnlimitedBytes),
          word_bytes,
          {mac_nj, l1_macs, l2_macs, noc_macs, offchip_macs},
          {pe_um2, l1_um2, l2_um2}};
}

// Cycles that words take on the network of a level (exact model, E3.4).
inline std::int64_t network_cycles(const Hardware& hardware, std::int64_t words) {
  return exact::Network{hardware.noc_bw, hardware.noc_latency}.cycles(words);
}

inline void bind_hardware(py::module_& module) {
  const Energies known;
  py::class_<Hardware>(module, "Hardware")
      .def(py::init(&make_hardware), py::kw_only(), py::arg("num_pes"), py::arg("simd_lanes"),
           py::arg("noc_bw"), py::arg("noc_latency"), py::arg("offchip_bw"), py::arg("l1_bytes"),
           py::arg("l2_bytes"), py::arg("word_bytes") = 1, py::arg("mac_nj") = known.mac_nj,
           py::arg("l1_macs") = known.l1_macs, py::arg("l2_macs") = known.l2_macs,
           py::arg("noc_macs") = known.noc_macs, py::arg("offchip_macs") = known.offchip_macs,
           py::arg("pe_um2") = 0.0, py::arg("l1_um2") = 0.0, py::arg("l2_um2") = 0.0);
  module.def("buffered_area_um2", &buffered_area_um2<double>, py::arg("hardware"),
             py::arg("l1_bytes"), py::arg("l2_bytes"));
  module.def("network_cycles", &network_cycles, py::arg("hardware"), py::arg("words"));
}

// A map space whose mappings are read and written by name.
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
