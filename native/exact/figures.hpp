// The figures of a report, of one mapping or of several.
#pragma once

#include "../core/metrics.hpp"
#include "report.hpp"

namespace gym::exact {

template <typename Number, typename Real>
GYM_INLINE void fill_spans(const BasicReport<Number>& report, BasicMetrics<Real>& metrics) {
  const BasicProfile<Number>& profile = report.profile;
  metrics.ingress_min_cycles = real(profile.ingress.min);
  metrics.ingress_max_cycles = real(profile.ingress.max);
  metrics.ingress_avg_cycles = report.average(profile.ingress);
  metrics.egress_min_cycles = real(profile.egress.min);
  metrics.egress_max_cycles = real(profile.egress.max);
  metrics.egress_avg_cycles = report.average(profile.egress);
  metrics.compute_min_cycles = real(profile.compute.min);
  metrics.compute_max_cycles = real(profile.compute.max);
  metrics.compute_avg_cycles = report.average(profile.compute);
  metrics.ingress_sum_cycles = real(profile.ingress.sum);
  metrics.egress_sum_cycles = real(profile.egress.sum);
  metrics.compute_sum_cycles = real(profile.compute.sum);
}

template <typename Number, typename Real>
GYM_INLINE void fill_counts(const BasicReport<Number>& report, const Hardware& hardware,
                            BasicMetrics<Real>& metrics) {
  metrics.steps = real(report.profile.steps);
  metrics.onchip_cycles = real(report.onchip_cycles);
  metrics.busy_pe_cycles = real(report.busy_pe_cycles);
  metrics.first_in_words = real(report.profile.first_in);
  metrics.last_out_words = real(report.profile.last_out);
  metrics.input_unit_writes = real(report.l2().unit_input);
  metrics.filter_unit_writes = real(report.l2().unit_filter);
  metrics.output_leaving_words = real(report.l2().leaving);
  metrics.output_psum_reads = real(report.psum_reads());
  metrics.offchip_read_words = real(report.plan.words_in());
  metrics.offchip_write_words = real(report.plan.offchip_out);
  metrics.l1_accesses = real(report.l1_accesses);
  metrics.cluster_accesses = real(report.mid_accesses);
  metrics.l2_accesses = real(report.l2_accesses);
  metrics.pe_l1_bytes = report.bytes(report.l1_size(), hardware);
  metrics.cluster_l1_bytes = report.bytes(report.l1_share, hardware);
  metrics.l2_used_bytes = report.bytes(report.plan.used, hardware);
  metrics.l2_hold_bytes = report.bytes(report.plan.hold, hardware);
  metrics.l2_resident_tensors = real(report.plan.resident);
  metrics.input_multicast = report.input_multicast();
  metrics.filter_multicast = report.filter_multicast();
  metrics.input_reuse = report.input_reuse();
  metrics.filter_reuse = report.filter_reuse();
}

// Costs, and what else decides whether a mapping has a cost.
template <typename Number, typename Real>
GYM_INLINE void fill_costs(const BasicReport<Number>& report, const Hardware& hardware,
                           BasicMetrics<Real>& metrics) {
  const Real cycles = real(report.cycles);
  metrics.latency_cycles = cycles;
  metrics.energy_nj = report.energy_nj;
  metrics.power_mw = constants::kMilliwattPerNjPerCycle * report.energy_nj / cycles;
  metrics.area_um2 = report.buffered_area_um2;
  metrics.l1_bytes = report.bytes(report.l1_total(), hardware);
  metrics.l2_bytes = report.bytes(report.plan.size, hardware);
}

// What the model has no figure for is left as it is.
template <typename Number, typename Real>
GYM_INLINE void fill(const BasicReport<Number>& report, const Hardware& hardware, Detail detail,
                     BasicMetrics<Real>& metrics) {
  fill_costs(report, hardware, metrics);
  if (detail == Detail::costs) return;
  const Real macs = number<Real>(report.macs);
  metrics.maestro_power_mw = report.power_mw;
  metrics.maestro_area_um2 = report.area_um2;
  metrics.macs = macs;
  metrics.macs_per_cycle = report.macs_per_cycle();
  metrics.utilization = report.utilization(hardware);
  metrics.active_pes = report.active_pes();
  metrics.arithmetic_intensity = report.arithmetic_intensity();
  metrics.input_l1_reads = macs;
  metrics.input_l1_writes = real(report.l1().unit_input);
  metrics.input_l2_reads = real(report.l2().fetched_input);
  metrics.input_l2_writes = real(report.plan.offchip_in[kInput]);
  metrics.filter_l1_reads = macs;
  metrics.filter_l1_writes = real(report.l1().unit_filter);
  metrics.filter_l2_reads = real(report.l2().fetched_filter);
  metrics.filter_l2_writes = real(report.plan.offchip_in[kFilter]);
  metrics.output_l1_reads = macs;
  metrics.output_l1_writes = macs;
  metrics.output_l2_reads = real(report.output_l2_reads());
  metrics.output_l2_writes = real(report.output_l2_writes());
  metrics.noc_peak_words_per_cycle = real(report.profile.peak_bw);
  metrics.noc_avg_words_per_cycle = report.noc_words_per_cycle();
  metrics.offchip_words_per_cycle = report.offchip_words_per_cycle();
  fill_spans(report, metrics);
  fill_counts(report, hardware, metrics);
}

}  // namespace gym::exact
