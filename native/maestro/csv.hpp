// MAESTRO's CSV as the binary prints it (S8): the row of a layer, and the rows of a mapping file.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis.hpp"

namespace gym::maestro {

// The header line, with the binary's irregular blanks.
extern const std::string_view kCsvHeader;

// L1 reads and writes of input, filter and output as the binary last stored them: what a nested
// mapping is charged is the layer before it in the file; before the first layer all are zero.
using StoredL1Counts = std::array<std::int64_t, 6>;

// The energy of one layer, stale counters included (quirk Q1); replaces them by the layer's own.
double csv_energy_nj(const LayerResult& result, StoredL1Counts& stored);

// Texts of the cells after network and layer name.
std::vector<std::string> csv_cells(const Layer& layer, const LayerTable& table,
                                   const Machine& machine, const LayerResult& result,
                                   double energy_nj);

// A whole row.
std::string csv_row(const std::string& network, const std::string& layer,
                    const std::vector<std::string>& cells);

// Buffer bytes a mapping requires; the binary prints them cut to C ints.
std::int64_t required_l1_bytes(const LayerResult& result);
std::int64_t required_l2_bytes(const LayerResult& result);

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

// All layers of a mapping file are built, then run, then printed, as the binary does (S8.1).
NetworkResult run_network(const std::vector<MappedLayer>& layers, const Machine& machine);

}  // namespace gym::maestro
