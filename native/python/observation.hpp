// What environments show of rows of metrics, for Python.
#pragma once

#include <stdexcept>

#include "../evaluate/observation.hpp"
#include "pybind.hpp"

namespace gym::python {

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
