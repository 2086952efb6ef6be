// What environments show of a row of metrics.
#pragma once

#include <cstddef>

#include "../metrics.hpp"

namespace gym::python {

inline constexpr std::size_t kObserved = 4;

// Latency, power, energy and area as log10(1 + x) / 20, from 0 to 1; 0 where there is no figure.
void observe(const Metrics& metrics, float* observation);

}  // namespace gym::python
