// What is reported of an evaluated mapping, or of several side by side.
#pragma once

#include <array>

#include "../core/area_power.hpp"
#include "../core/hardware.hpp"
#include "../core/metrics.hpp"
#include "traffic.hpp"

namespace gym::maestro {

// Cycles of some part of a step.
template <typename Number>
struct BasicSpan {
  Number min, max;
  decltype(real(Number{})) sum, average;
};

// What the parts of the model find out about a mapping.
template <typename Number>
struct BasicFindings {
  using Real = decltype(real(Number{}));

  BasicTraffics<Number> traffic;
  Number runtime, macs, iterations, peak_bw, offchip_bw, l1_bytes, l2_bytes;
  Real active_units, intensity, words_per_cycle, csv_energy_nj;
  BasicSpan<Number> ingress, egress, compute;
};

template <typename Number, typename Real>
GYM_INLINE void fill(const BasicFindings<Number>& findings, const Hardware& hardware,
                     BasicMetrics<Real>& metrics) {
  const BasicTraffic<Number>& input = findings.traffic[kInput];
  const BasicTraffic<Number>& filter = findings.traffic[kFilter];
  const BasicTraffic<Number>& output = findings.traffic[kOutput];
  const Real l1 = real(findings.l1_bytes);
  const Real l2 = real(findings.l2_bytes);
  const BasicAreaPower<Real> cost =
      area_power(hardware.num_pes, hardware.simd_lanes, hardware.noc_bw, l1, l2, PeSum::product);
  const Real cycles = real(findings.runtime);
  const Real macs = real(findings.macs);
  metrics.latency_cycles = cycles;
  metrics.energy_nj = total_energy_nj<Number>(findings.macs, findings.traffic);
  metrics.power_mw = constants::kMilliwattPerNjPerCycle * metrics.energy_nj / cycles;
  metrics.area_um2 = buffered_area_um2(hardware, l1, l2);
  metrics.csv_energy_nj = findings.csv_energy_nj;
  metrics.maestro_power_mw = cost.power_mw;
  metrics.maestro_area_um2 = cost.area_um2;
  metrics.macs = macs;
  metrics.macs_per_cycle = macs / cycles;
  metrics.utilization = macs / cycles / static_cast<double>(hardware.num_pes) /
                        static_cast<double>(hardware.simd_lanes);
  metrics.active_pes = findings.active_units;
  metrics.arithmetic_intensity = findings.intensity;
  metrics.l1_bytes = l1;
  metrics.l2_bytes = l2;
  metrics.input_l1_reads = real(input.l1_read);
  metrics.input_l1_writes = real(input.l1_write);
  metrics.input_l2_reads = real(input.l2_read);
  metrics.input_l2_writes = real(input.l2_write);
  metrics.filter_l1_reads = real(filter.l1_read);
  metrics.filter_l1_writes = real(filter.l1_write);
  metrics.filter_l2_reads = real(filter.l2_read);
  metrics.filter_l2_writes = real(filter.l2_write);
  metrics.output_l1_reads = real(output.l1_read);
  metrics.output_l1_writes = real(output.l1_write);
  metrics.output_l2_reads = real(output.l2_read);
  metrics.output_l2_writes = real(output.l2_write);
  metrics.noc_peak_words_per_cycle = real(findings.peak_bw);
  metrics.noc_avg_words_per_cycle = findings.words_per_cycle;
  metrics.offchip_words_per_cycle = real(findings.offchip_bw);
  metrics.ingress_min_cycles = real(findings.ingress.min);
  metrics.ingress_max_cycles = real(findings.ingress.max);
  metrics.ingress_avg_cycles = findings.ingress.average;
  metrics.egress_min_cycles = real(findings.egress.min);
  metrics.egress_max_cycles = real(findings.egress.max);
  metrics.egress_avg_cycles = findings.egress.average;
  metrics.compute_min_cycles = real(findings.compute.min);
  metrics.compute_max_cycles = real(findings.compute.max);
  metrics.compute_avg_cycles = findings.compute.average;
  metrics.ingress_sum_cycles = findings.ingress.sum;
  metrics.egress_sum_cycles = findings.egress.sum;
  metrics.compute_sum_cycles = findings.compute.sum;
  metrics.steps = real(findings.iterations);
}

}  // namespace gym::maestro
