// The accelerator, and what of it needs no mapping.
#pragma once

#include <optional>

#include "../core/area_power.hpp"
#include "../core/hardware.hpp"
#include "../exact/timer.hpp"
#include "pybind.hpp"

namespace gym::python {

inline Hardware make_hardware(std::int32_t num_pes, std::int32_t simd_lanes, std::int32_t noc_bw,
                              std::int64_t noc_latency, std::int32_t offchip_bw,
                              std::optional<std::int64_t> l1_bytes,
                              std::optional<std::int64_t> l2_bytes, std::int64_t word_bytes,
                              double mac_nj, double l1_macs, double l2_macs, double noc_macs,
                              double offchip_macs, double pe_um2, double l1_um2, double l2_um2) {
  return {num_pes,
          simd_lanes,
          noc_bw,
          noc_latency,
          offchip_bw,
          l1_bytes.value_or(kUnlimitedBytes),
          l2_bytes.value_or(kUnlimitedBytes),
          word_bytes,
          {mac_nj, l1_macs, l2_macs, noc_macs, offchip_macs},
          {pe_um2, l1_um2, l2_um2}};
}

// Cycles that words take on the network of a level (exact model, E3.4).
inline std::int64_t network_cycles(const Hardware& hardware, std::int64_t words) {
  return exact::Network{hardware.noc_bw, hardware.noc_latency}.cycles(words);
}

inline void bind_hardware(py::module_& module) {
  const Energies known;
  py::class_<Hardware>(module, "Hardware")
      .def(py::init(&make_hardware), py::kw_only(), py::arg("num_pes"), py::arg("simd_lanes"),
           py::arg("noc_bw"), py::arg("noc_latency"), py::arg("offchip_bw"), py::arg("l1_bytes"),
           py::arg("l2_bytes"), py::arg("word_bytes") = 1, py::arg("mac_nj") = known.mac_nj,
           py::arg("l1_macs") = known.l1_macs, py::arg("l2_macs") = known.l2_macs,
           py::arg("noc_macs") = known.noc_macs, py::arg("offchip_macs") = known.offchip_macs,
           py::arg("pe_um2") = 0.0, py::arg("l1_um2") = 0.0, py::arg("l2_um2") = 0.0);
  module.def("buffered_area_um2", &buffered_area_um2<double>, py::arg("hardware"),
             py::arg("l1_bytes"), py::arg("l2_bytes"));
  module.def("network_cycles", &network_cycles, py::arg("hardware"), py::arg("words"));
}

}  // namespace gym::python
