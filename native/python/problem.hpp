// Layers and mappings by the names Python has for operators, dimensions and directives.
#pragma once

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../core/layer.hpp"
#include "../core/map_space.hpp"
#include "pybind.hpp"

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

}  // namespace gym::python
