// What environments show of a row of metrics.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "../core/metrics.hpp"

namespace gym {

inline constexpr std::size_t kObserved = 4;

inline constexpr double kDecades = 20;

// Latency, power, energy and area as log10(1 + x) / 20, from 0 to 1; 0 where there is no figure.
inline void observe(const Metrics& metrics, float* observation) {
  for (const double figure :
       {metrics.latency_cycles, metrics.power_mw, metrics.energy_nj, metrics.area_um2}) {
    // fmax prefers the 0 to NaN.
    const double decades = std::log10(1 + std::fmax(figure, 0.0));
    *observation++ = static_cast<float>(std::min(decades / kDecades, 1.0));
  }
}

}  // namespace gym
