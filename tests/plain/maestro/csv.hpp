// One layer's row of MAESTRO's CSV as the binary prints it (S8.2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis.hpp"

namespace gym::maestro {

// The header line, with the binary's irregular blanks.
extern const std::string_view kCsvHeader;

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

}  // namespace gym::maestro
