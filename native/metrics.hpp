// The figures of one evaluated mapping: one row of doubles, shared with Python by name.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace gym {

// Units are in the names; words are bytes. `l1` is a PE's buffer, `l2` the shared one.
#define GYM_METRICS(X)        \
  X(latency_cycles)           \
  X(energy_nj)                \
  X(power_mw)                 \
  X(area_um2)                 \
  X(csv_energy_nj)            \
  X(maestro_power_mw)         \
  X(maestro_area_um2)         \
  X(macs)                     \
  X(macs_per_cycle)           \
  X(utilization)              \
  X(active_pes)               \
  X(arithmetic_intensity)     \
  X(l1_bytes)                 \
  X(l2_bytes)                 \
  X(input_l1_reads)           \
  X(input_l1_writes)          \
  X(input_l2_reads)           \
  X(input_l2_writes)          \
  X(filter_l1_reads)          \
  X(filter_l1_writes)         \
  X(filter_l2_reads)          \
  X(filter_l2_writes)         \
  X(output_l1_reads)          \
  X(output_l1_writes)         \
  X(output_l2_reads)          \
  X(output_l2_writes)         \
  X(noc_peak_words_per_cycle) \
  X(noc_avg_words_per_cycle)  \
  X(offchip_words_per_cycle)  \
  X(ingress_min_cycles)       \
  X(ingress_max_cycles)       \
  X(ingress_avg_cycles)       \
  X(egress_min_cycles)        \
  X(egress_max_cycles)        \
  X(egress_avg_cycles)        \
  X(compute_min_cycles)       \
  X(compute_max_cycles)       \
  X(compute_avg_cycles)

struct Metrics {
#define GYM_FIELD(name) double name;
  GYM_METRICS(GYM_FIELD)
#undef GYM_FIELD
};

inline constexpr std::array kMetricNames = {
#define GYM_NAME(name) std::string_view(#name),
    GYM_METRICS(GYM_NAME)
#undef GYM_NAME
};

inline constexpr std::size_t kMetrics = kMetricNames.size();
static_assert(sizeof(Metrics) == kMetrics * sizeof(double));

}  // namespace gym
