// Two-level mappings evaluated side by side, for throughput: the same figures as those of
// ../analysis.hpp, bit for bit, averages apart.
#pragma once

#include "problem.hpp"

namespace gym::maestro::wide {

// Mappings whose PEs wait, or that are special to the binary, are not right. Averages are sums
// still: the binary divides them with more digits than a double has.
using Evaluate = void (*)(const Problem&, const TilingColumns&, ResultColumns&);

// Only processors that have the instruction set may run these.
void evaluate_avx2(const Problem& problem, const TilingColumns& tilings, ResultColumns& results);
void evaluate_avx512(const Problem& problem, const TilingColumns& tilings, ResultColumns& results);

// The fastest way of this processor, or null if it has none.
Evaluate fastest();

}  // namespace gym::maestro::wide
