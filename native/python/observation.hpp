// What environments show of a row of metrics.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "../core/metrics.hpp"
#include "pybind.hpp"

namespace gym::python {

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

// float32[N, 4] of float64[N, M].
inline py::array_t<float> observations_of(const py::array_t<double, py::array::c_style>& rows) {
  if (rows.ndim() != 2 || rows.shape(1) != static_cast<py::ssize_t>(kMetrics)) {
    throw std::invalid_argument("rows of metrics needed");
  }
  py::array_t<float> observations = new_array<float>(Shape<2>{rows.shape(0), kObserved});
  const auto* row = reinterpret_cast<const Metrics*>(rows.data());
  float* observation = observations.mutable_data();
  for (py::ssize_t i = 0; i < rows.shape(0); ++i, observation += kObserved) {
    observe(row[i], observation);
  }
  return observations;
}

inline void bind_observation(py::module_& module) {
  module.attr("OBSERVED") = kObserved;
  module.def("observations", &observations_of, py::arg("metrics"));
}

}  // namespace gym::python
