// Two-level mappings evaluated side by side, for throughput: the same figures as those of
// ../model.hpp, bit for bit.
#pragma once

#include "../../wide/columns.hpp"
#include "problem.hpp"

namespace gym::exact::wide {

// Mappings whose PEs wait are not right.
using Evaluate = void (*)(const Problem&, const TilingColumns&, ResultColumns&);

// Only processors that have the instruction set may run these.
void evaluate_avx2(const Problem& problem, const TilingColumns& tilings, ResultColumns& results);
void evaluate_avx512(const Problem& problem, const TilingColumns& tilings, ResultColumns& results);

// The fastest way of this processor, or null if it has none.
Evaluate fastest();

}  // namespace gym::exact::wide
