// What models tell of mappings in words: the exact model of one, in a dictionary, and the MAESTRO
// binary of whole networks, in its CSV.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../exact/model.hpp"
#include "../maestro/csv.hpp"
#include "arrays.hpp"
#include "problem.hpp"

namespace gym::python {

// Of the buffers between a level and the one below.
inline py::dict cluster_counts(const exact::Report& report, int level) {
  const exact::LevelWords& written = report.words[level];
  const exact::LevelWords& read = report.words[level + 1];
  py::dict counts;
  counts["write_input"] = written.unit_input;
  counts["write_filter"] = written.unit_filter;
  counts["read_input"] = read.fetched_input;
  counts["read_filter"] = read.fetched_filter;
  counts["write_output"] = read.leaving;
  counts["read_output"] = read.leaving;
  counts["size"] = report.buffer[level];
  return counts;
}

inline void add_span(py::dict& results, const char* name, const exact::Report& report,
                     const exact::Span& span) {
  const std::string prefix(name);
  results[py::str(prefix + "_min")] = span.min;
  results[py::str(prefix + "_max")] = span.max;
  results[py::str(prefix + "_sum")] = span.sum;
  results[py::str(prefix + "_avg")] = report.average(span);
}

inline py::dict exact_results(const exact::Report& report, const Hardware& hardware) {
  py::dict results;
  results["macs"] = report.macs;
  results["offchip_read"] = report.plan.words_in();
  results["offchip_write"] = report.plan.offchip_out;
  results["l2_resident"] = report.plan.resident;
  results["onchip_cycles"] = report.onchip_cycles;
  results["cycles"] = report.cycles;
  results["busy_pe_cycles"] = report.busy_pe_cycles;
  results["l2_read_input"] = report.l2().fetched_input;
  results["l2_read_filter"] = report.l2().fetched_filter;
  results["l2_write_input"] = report.plan.offchip_in[kInput];
  results["l2_write_filter"] = report.plan.offchip_in[kFilter];
  results["leaving_output"] = report.l2().leaving;
  results["l2_write_output"] = report.output_l2_writes();
  results["l2_psum_read_output"] = report.psum_reads();
  results["l2_read_output"] = report.output_l2_reads();
  results["l1_write_input"] = report.l1().unit_input;
  results["l1_write_filter"] = report.l1().unit_filter;
  for (const char* name :
       {"l1_read_input", "l1_read_filter", "l1_read_output", "l1_write_output"}) {
    results[name] = report.macs;
  }
  results["unit_write_input"] = report.l2().unit_input;
  results["unit_write_filter"] = report.l2().unit_filter;
  py::list clusters;
  for (int j = 0; j + 1 < report.levels; ++j) clusters.append(cluster_counts(report, j));
  results["mid"] = clusters;
  results["l1_size"] = report.l1_size();
  results["l2_size"] = report.plan.size;
  results["l2_used"] = report.plan.used;
  results["l1_share"] = report.l1_share;
  results["l1_total"] = report.l1_total();
  results["l2_hold"] = report.plan.hold;
  results["first_in"] = report.profile.first_in;
  results["last_out"] = report.profile.last_out;
  results["steps"] = report.profile.steps;
  add_span(results, "ingress", report, report.profile.ingress);
  add_span(results, "compute", report, report.profile.compute);
  add_span(results, "egress", report, report.profile.egress);
  results["peak_bw"] = report.profile.peak_bw;
  results["avg_bw"] = report.noc_words_per_cycle();
  results["offchip_bw_req"] = report.offchip_words_per_cycle();
  results["throughput"] = report.macs_per_cycle();
  results["avg_active_pes"] = report.active_pes();
  results["utilization"] = report.utilization(hardware);
  results["arithmetic_intensity"] = report.arithmetic_intensity();
  results["multicast_input"] = report.input_multicast();
  results["multicast_filter"] = report.filter_multicast();
  results["reuse_input"] = report.input_reuse();
  results["reuse_filter"] = report.filter_reuse();
  results["l1_accesses"] = report.l1_accesses;
  results["l2_accesses"] = report.l2_accesses;
  results["mid_accesses"] = report.mid_accesses;
  results["energy"] = report.energy_nj;
  results["area"] = report.area_um2;
  results["power"] = report.power_mw;
  results["gamma_area"] = report.buffered_area_um2;
  return results;
}

inline py::tuple exact_report(const NamedLayer& layer,
                              const std::vector<NamedDirective>& directives,
                              const Hardware& hardware) {
  exact::ExactModel model(layer.layer, hardware);
  Metrics metrics;
  Status status = model.evaluate(layer.read(directives), metrics);
  py::object results = py::none();
  if (status == Status::ok) {
    const exact::Report& report = model.report();
    results = exact_results(report, hardware);
    status = hardware.check_capacities(real(report.l1_total()), real(report.plan.size));
  }
  return py::make_tuple(kStatusNames[static_cast<std::size_t>(status)], results);
}

inline void bind_report(py::module_& module) {
  module.def("exact_report", &exact_report, py::arg("layer"), py::arg("directives"),
             py::arg("hardware"));
}

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
