// Whole networks as the MAESTRO binary evaluates them, and its CSV.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../maestro/csv.hpp"
#include "problem.hpp"
#include "pybind.hpp"

namespace gym::python {

// The binary's parser lets no others through, so its model divides by them.
inline void require_readable(const NamedLayer& named) {
  for (const auto& [dim, value] : named.layer.extents) {
    if (value == 0) {
      throw std::invalid_argument("extent of " + named.name(dim) + " is 0; allowed: all but 0");
    }
  }
  for (Dim dim = 0; dim < kUnknownDim; ++dim) {
    const std::int32_t stride = named.layer.stride[dim];
    if (stride < 1) {
      throw std::invalid_argument("stride of " + named.name(dim) + " is " + std::to_string(stride) +
                                  "; allowed: integers from 1");
    }
  }
}

inline py::tuple run_network(const std::vector<NamedLayer>& layers,
                             const std::vector<std::vector<NamedDirective>>& mappings,
                             std::int32_t num_pes, std::int32_t simd_lanes, std::int32_t offchip_bw,
                             const std::vector<std::pair<std::int32_t, std::int32_t>>& nocs) {
  if (mappings.size() != layers.size()) {
    throw std::invalid_argument(std::to_string(mappings.size()) + " mappings of " +
                                std::to_string(layers.size()) + " layers; give one of each");
  }
  if (nocs.size() > maestro::kMaxLevels) {
    throw std::invalid_argument(std::to_string(nocs.size()) + " networks-on-chip; allowed: up to " +
                                std::to_string(maestro::kMaxLevels));
  }
  std::vector<maestro::MappedLayer> mapped;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    require_readable(layers[i]);
    mapped.push_back({layers[i].layer, layers[i].read(mappings[i])});
  }
  maestro::Machine machine{num_pes, simd_lanes, offchip_bw, {}};
  for (const auto& [bw, latency] : nocs) machine.nocs.push_back({bw, latency});
  maestro::NetworkResult result;
  {
    py::gil_scoped_release release;
    result = maestro::run_network(mapped, machine);
  }
  return py::make_tuple(kStatusNames[static_cast<std::size_t>(result.status)], result.rows);
}

inline void bind_network(py::module_& module) {
  module.attr("CSV_HEADER") = std::string(maestro::kCsvHeader);
  module.def("run_network", &run_network, py::arg("layers"), py::arg("mappings"),
             py::arg("num_pes"), py::arg("simd_lanes"), py::arg("offchip_bw"), py::arg("nocs"));
  module.def("csv_row", &maestro::csv_row, py::arg("network"), py::arg("layer"), py::arg("cells"));
}

}  // namespace gym::python
