// The figures of one evaluated mapping: one row of doubles, shared with Python by name.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace gym {

// Units are in the names; words are bytes. `l1` is a PE's buffer, `l2` the shared one.
// clang-format off
#define GYM_METRICS(X) \
  X(latency_cycles) X(energy_nj) X(power_mw) X(area_um2) \
  X(csv_energy_nj) X(maestro_power_mw) X(maestro_area_um2) \
  X(macs) X(macs_per_cycle) X(utilization) X(active_pes) X(arithmetic_intensity) \
  X(l1_bytes) X(l2_bytes) \
  X(input_l1_reads) X(input_l1_writes) X(input_l2_reads) X(input_l2_writes) \
  X(filter_l1_reads) X(filter_l1_writes) X(filter_l2_reads) X(filter_l2_writes) \
  X(output_l1_reads) X(output_l1_writes) X(output_l2_reads) X(output_l2_writes) \
  X(noc_peak_words_per_cycle) X(noc_avg_words_per_cycle) X(offchip_words_per_cycle) \
  X(ingress_min_cycles) X(ingress_max_cycles) X(ingress_avg_cycles) \
  X(egress_min_cycles) X(egress_max_cycles) X(egress_avg_cycles) \
  X(compute_min_cycles) X(compute_max_cycles) X(compute_avg_cycles) \
  X(ingress_sum_cycles) X(egress_sum_cycles) X(compute_sum_cycles) \
  X(steps) X(onchip_cycles) X(busy_pe_cycles) X(first_in_words) X(last_out_words) \
  X(input_unit_writes) X(filter_unit_writes) X(output_leaving_words) X(output_psum_reads) \
  X(offchip_read_words) X(offchip_write_words) \
  X(l1_accesses) X(cluster_accesses) X(l2_accesses) \
  X(pe_l1_bytes) X(cluster_l1_bytes) \
  X(l2_used_bytes) X(l2_hold_bytes) X(l2_resident_tensors) \
  X(input_multicast) X(filter_multicast) X(input_reuse) X(filter_reuse)
// clang-format on

// Buffers of the clusters of one level, all clusters together; bytes of one.
struct ClusterMetrics {
  double input_writes, filter_writes;
  double input_reads, filter_reads;
  double output_writes, output_reads;
  double bytes;
};

template <typename Real>
struct BasicMetrics {
#define GYM_FIELD(name) Real name;
  GYM_METRICS(GYM_FIELD)
#undef GYM_FIELD
};
using Metrics = BasicMetrics<double>;

inline constexpr std::array kMetricNames = {
#define GYM_NAME(name) std::string_view(#name),
    GYM_METRICS(GYM_NAME)
#undef GYM_NAME
};

inline constexpr std::size_t kMetrics = kMetricNames.size();
// The first ones, which a mapping is chosen by.
inline constexpr std::size_t kCosts = 4;

// What is wanted of mappings: whole rows, or costs of those that fit the buffers, and the statuses
// of the others, which are sooner known.
enum class Detail { rows, costs };

// The first columns of a row that are written: for costs, those that decide on the status too.
constexpr std::size_t columns_of(Detail detail) { return detail == Detail::rows ? kMetrics : 14; }
static_assert(kMetricNames[columns_of(Detail::costs) - 1] == "l2_bytes");
static_assert(sizeof(Metrics) == kMetrics * sizeof(double));

}  // namespace gym
