// The accelerator, and what of it needs no mapping.
#pragma once

#include <optional>

#include "../area_power.hpp"
#include "../exact/timer.hpp"
#include "../hardware.hpp"
#include "pybind.hpp"

namespace gym::python {

inline Hardware make_hardware(std::int32_t num_pes, std::int32_t simd_lanes, std::int32_t noc_bw,
                              std::int64_t noc_latency, std::int32_t offchip_bw,
                              std::optional<std::int64_t> l1_bytes,
                              std::optional<std::int64_t> l2_bytes, double offchip_cost_macs) {
  return {num_pes,
          simd_lanes,
          noc_bw,
          noc_latency,
          offchip_bw,
          l1_bytes.value_or(kUnlimitedBytes),
          l2_bytes.value_or(kUnlimitedBytes),
          offchip_cost_macs};
}

// Cycles that words take on the network of a level (exact model, E3.4).
inline std::int64_t network_cycles(const Hardware& hardware, std::int64_t words) {
  return exact::Network{hardware.noc_bw, hardware.noc_latency}.cycles(words);
}

inline void bind_hardware(py::module_& module) {
  py::class_<Hardware>(module, "Hardware")
      .def(py::init(&make_hardware), py::kw_only(), py::arg("num_pes"), py::arg("simd_lanes"),
           py::arg("noc_bw"), py::arg("noc_latency"), py::arg("offchip_bw"), py::arg("l1_bytes"),
           py::arg("l2_bytes"), py::arg("offchip_cost_macs") = 0.0);
  module.def("block_area_um2", &block_area_um2<double>, py::arg("hardware"), py::arg("l1_bytes"),
             py::arg("l2_bytes"));
  module.def("network_cycles", &network_cycles, py::arg("hardware"), py::arg("words"));
}

}  // namespace gym::python
