// A map space whose mappings are read and written by name.
#pragma once

#include <pybind11/numpy.h>

#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../map_space.hpp"
#include "names.hpp"

namespace gym::python {

class NamedSpace {
 public:
  using ChoiceSpec = std::pair<int, std::vector<std::int32_t>>;
  using LevelSpec = std::tuple<int, ChoiceSpec, std::vector<ChoiceSpec>>;

  NamedSpace(const NamedLayer& layer, const NamedValues& parameters,
             const std::vector<std::string>& dims, const std::array<LevelSpec, 2>& levels,
             const ChoiceSpec& cluster);

  std::vector<NamedDirective> decode(const pybind11::object& values) const;

  MapSpace space;

 private:
  NamedLayer layer_;
};

}  // namespace gym::python
