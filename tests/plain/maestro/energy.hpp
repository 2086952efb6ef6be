// The energy MAESTRO's CSV prints, stale counters included (S8.3, quirk Q1).
#pragma once

#include <array>
#include <cstdint>

#include "analysis.hpp"

namespace gym::maestro {

// L1 reads and writes of input, filter and output as the binary last stored them: what a nested
// mapping is charged is the layer before it in the file; before the first layer all are zero.
using StoredL1Counts = std::array<std::int64_t, 6>;

// Energy in nJ of one layer; replaces the stored counts by the layer's own.
double csv_energy_nj(const LayerResult& result, StoredL1Counts& stored);

}  // namespace gym::maestro
