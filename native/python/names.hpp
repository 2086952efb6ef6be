// Layers and mappings by the names Python has for operators, dimensions and directives.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../layer.hpp"
#include "../mapping.hpp"

namespace gym::python {

using NamedValues = std::vector<std::pair<std::string, std::int32_t>>;
using NamedDirective = std::tuple<std::string, std::string, std::int32_t, std::int32_t>;

// Names as a program has them: looking one up in a dictionary compares no letters.
template <typename Names>
pybind11::tuple interned(const Names& names) {
  pybind11::tuple result(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    PyObject* name = PyUnicode_InternFromString(std::string(names[i]).c_str());
    if (name == nullptr) throw pybind11::error_already_set();
    result[i] = pybind11::reinterpret_steal<pybind11::str>(name);
  }
  return result;
}

// A layer and the names of its dimensions, in which mappings are read and written.
class NamedLayer {
 public:
  NamedLayer(const std::string& op, const NamedValues& extents, const NamedValues& strides);

  Dim dim(std::string_view name) const;
  const std::string& name(Dim dim) const { return names_[dim]; }
  Mapping read(const std::vector<NamedDirective>& directives) const;
  std::vector<NamedDirective> write(const Mapping& mapping) const;

  Layer layer;

 private:
  Dim intern(const std::string& name);

  std::vector<std::string> names_;
};

}  // namespace gym::python
