// The code that is compiled once for each instruction set. Only processors that have it may run it.
#pragma once

#include "block.hpp"

namespace gym::exact::wide {

void evaluate_avx2(const Problem& problem, const Tilings& tilings, Results& results);
void evaluate_avx512(const Problem& problem, const Tilings& tilings, Results& results);

}  // namespace gym::exact::wide
