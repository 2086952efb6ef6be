// A parsed mapping file: all layers are built, then run, then printed, as the binary does (S8.1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis.hpp"

namespace gym::maestro {

// `ok` and a row of cells per layer, or how the binary dies and no rows.
struct NetworkResult {
  Status status = Status::ok;
  std::vector<std::vector<std::string>> rows;
};

// Without a mapping a layer shares the list of the layer before it (S1.6).
struct MappedLayer {
  Layer layer;
  Mapping mapping;
};

NetworkResult run_network(const std::vector<MappedLayer>& layers, const Machine& machine);

}  // namespace gym::maestro
