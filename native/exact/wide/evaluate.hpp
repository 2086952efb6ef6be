// Two-level mappings side by side, for throughput: the same figures as ../model.hpp, bit for bit.
#pragma once

#include "../figures.hpp"
#include "cuts.hpp"

namespace gym::exact::wide {

// Whether this processor can.
bool supported();

// Fills the figures of every mapping, and says whose are right: where PEs wait they are not.
void evaluate(const Problem& problem, const WideTiling& tiling, BasicMetrics<Wide>& figures,
              WideFlag& right);

}  // namespace gym::exact::wide
