// All results of the exact model by name (E3.5, E5, E6), and the row of figures that they make, of
// one mapping or of several.
#pragma once

#include <array>
#include <cstdint>

#include "../core/area_power.hpp"
#include "../core/hardware.hpp"
#include "../core/layer.hpp"
#include "../core/metrics.hpp"
#include "../core/numbers.hpp"
#include "tile.hpp"
#include "traffic.hpp"

namespace gym::exact {

template <typename Number>
struct BasicSpan {
  Number min, max, sum;

  // Of so many of one value, perhaps none.
  GYM_INLINE static BasicSpan of(Number value, Number times) {
    return {value, value, value * times};
  }
  GYM_INLINE void add(Number value, Number times) {
    const auto occurs = times > Number{};
    min = select(occurs, least(min, value), min);
    max = select(occurs, most(max, value), max);
    sum += value * times;
  }
};
using Span = BasicSpan<Count>;

// What is reported of the steps of the outermost level (E5).
template <typename Number>
struct BasicProfile {
  BasicSpan<Number> ingress, compute, egress;
  Number steps;
  Number peak_bw;
  Number first_in;
  Number last_out;
  BasicTileWords<Number> array_tile;  // the largest
};
using Profile = BasicProfile<Count>;

template <typename Number>
using BasicPerTensor = std::array<Number, kTensors>;
using PerTensor = BasicPerTensor<Count>;

// Which tensors L2 keeps whole, and what crosses the chip's edge (E3.5).
template <typename Number>
struct BasicL2Plan {
  Number resident;  // bit per tensor: input 1, filter 2, output 4
  BasicPerTensor<Number> offchip_in;
  Number offchip_out;
  Number size;  // least L2 the mapping runs with
  Number used;  // by the chosen set
  Number hold;  // least L2 with compulsory off-chip traffic

  GYM_INLINE Number words_in() const { return offchip_in[0] + offchip_in[1] + offchip_in[2]; }
};
using L2Plan = BasicL2Plan<Count>;

// `words`: of the whole tensors; `stream`: words that pass between L2 and the array; `tile`: words
// of the largest array tile; `capacity` in words. The set that is kept leaves the least traffic,
// then takes the fewest words, then has the lowest number.
template <typename Number>
GYM_INLINE BasicL2Plan<Number> plan_l2(const PerTensor& words, const BasicPerTensor<Number>& stream,
                                       const BasicPerTensor<Number>& tile, std::int64_t capacity) {
  BasicPerTensor<Number> whole, streamed, traffic;
  BasicL2Plan<Number> plan{};
  Number least_traffic{}, least_kept{};
  for (int t = 0; t < kTensors; ++t) {
    whole[t] = number<Number>(words[t]);
    streamed[t] = least(2 * tile[t], whole[t]);
    // A word that leaves again finds its old value off-chip.
    traffic[t] = t == kOutput ? 2 * stream[t] - whole[t] : most(stream[t], whole[t]);
    plan.size += streamed[t];
    plan.hold += select(stream[t] > whole[t], whole[t], streamed[t]);
    least_traffic += traffic[t];
  }
  plan.used = plan.size;
  BasicPerTensor<Number> keeps{};
  for (int set = 1; set < 1 << kTensors; ++set) {
    Number used{}, kept{}, total{};
    auto possible = least_traffic >= Number{};
    for (int t = 0; t < kTensors; ++t) {
      const bool in = (set >> t & 1) != 0;
      if (in) possible &= stream[t] > whole[t];
      used += in ? whole[t] : streamed[t];
      kept += in ? whole[t] : Number{};
      total += in ? whole[t] : traffic[t];
    }
    possible &= used <= number<Number>(capacity);
    possible &= (total < least_traffic) | ((total == least_traffic) & (kept < least_kept));
    plan.resident = select(possible, number<Number>(set), plan.resident);
    plan.used = select(possible, used, plan.used);
    least_traffic = select(possible, total, least_traffic);
    least_kept = select(possible, kept, least_kept);
    for (int t = 0; t < kTensors; ++t) {
      keeps[t] = select(possible, number<Number>(set >> t & 1), keeps[t]);
    }
  }
  for (int t = 0; t < kTensors; ++t) {
    const Number in = t == kOutput ? stream[t] - whole[t] : most(stream[t], whole[t]);
    const Number held = t == kOutput ? Number{} : whole[t];
    plan.offchip_in[t] = select(keeps[t] > Number{}, held, in);
  }
  plan.offchip_out = select(keeps[kOutput] > Number{}, whole[kOutput], stream[kOutput]);
  return plan;
}

// What every mapping of a layer has in common.
struct Totals {
  std::int64_t macs;
  PerTensor words;

  explicit Totals(const LoopNest& nest)
      : macs(nest.macs()), words{nest.words(kInput), nest.words(kFilter), nest.words(kOutput)} {}
};

template <typename Number>
struct BasicReport {
  using Real = decltype(real(Number{}));

  // What the parts of the model find out about a tiling of so many levels.
  int levels;
  Number onchip_cycles, busy_pe_cycles;
  std::array<BasicLevelWords<Number>, kMaxLevels> words;
  // Words of a buffer that holds two tiles of a level's units. Those of clusters are pooled from
  // the L1s of their PEs, of which they take a share.
  std::array<Number, kMaxLevels> buffer;
  Number l1_share;
  BasicProfile<Number> profile;
  // What follows from that.
  std::int64_t macs, output_words;
  Number cycles;
  BasicL2Plan<Number> plan;
  Number l1_accesses, l2_accesses, mid_accesses;
  Real energy_nj, area_um2, power_mw, buffered_area_um2;

  GYM_INLINE void conclude(const Totals& totals, const Hardware& hardware) {
    macs = totals.macs;
    output_words = totals.words[kOutput];
    const BasicTileWords<Number>& tile = profile.array_tile;
    plan = plan_l2<Number>(totals.words, {l2().fetched_input, l2().fetched_filter, l2().leaving},
                           {tile.input, tile.filter, tile.output}, hardware.l2_words());
    const Number offchip_bw = number<Number>(hardware.offchip_bw);
    cycles = most(ceil_div(profile.first_in, offchip_bw) + onchip_cycles +
                      ceil_div(profile.last_out, offchip_bw),
                  ceil_div(offchip_words(), offchip_bw));
    l1_accesses = number<Number>(4 * macs) + l1().unit_input + l1().unit_filter;
    l2_accesses = l2().fetched() + plan.offchip_in[kInput] + plan.offchip_in[kFilter] +
                  output_l2_writes() + output_l2_reads();
    mid_accesses = Number{};
    for (int j = 0; j + 1 < levels; ++j) {
      const BasicLevelWords<Number>& below = words[j + 1];
      // A word that leaves the level below is added to or sent on: written and read once.
      mid_accesses +=
          words[j].unit_input + words[j].unit_filter + below.fetched() + 2 * below.leaving;
    }
    price(hardware);
  }

  // Words of the outermost level, and of the innermost.
  GYM_INLINE const BasicLevelWords<Number>& l2() const { return words[0]; }
  GYM_INLINE const BasicLevelWords<Number>& l1() const { return words[levels - 1]; }
  GYM_INLINE Number l1_size() const { return buffer[levels - 1]; }
  GYM_INLINE Number l1_total() const { return l1_size() + l1_share; }
  GYM_INLINE Number psum_reads() const { return l2().leaving - number<Number>(output_words); }
  GYM_INLINE Number output_l2_writes() const { return l2().leaving + plan.offchip_in[kOutput]; }
  GYM_INLINE Number output_l2_reads() const { return psum_reads() + plan.offchip_out; }
  // Words that units of all levels take in and send up.
  GYM_INLINE Number noc_words() const {
    Number sum{};
    for (int j = 0; j < levels; ++j) {
      sum += words[j].unit_input + words[j].unit_filter + words[j].leaving;
    }
    return sum;
  }
  GYM_INLINE Number offchip_words() const { return plan.words_in() + plan.offchip_out; }

  GYM_INLINE static Real bytes(Number words, const Hardware& hardware) {
    return static_cast<double>(hardware.word_bytes) * real(words);
  }
  GYM_INLINE Real macs_per_cycle() const { return real(macs) / real(cycles); }
  GYM_INLINE Real active_pes() const { return real(busy_pe_cycles) / real(cycles); }
  GYM_INLINE Real utilization(const Hardware& hardware) const {
    const Real lanes = real(cycles) * static_cast<double>(hardware.num_pes) *
                       static_cast<double>(hardware.simd_lanes);
    return real(macs) / lanes;
  }
  GYM_INLINE Real arithmetic_intensity() const { return real(macs) / real(l2().fetched()); }
  GYM_INLINE Real noc_words_per_cycle() const {
    return real(l2().fetched() + l2().leaving) / real(onchip_cycles);
  }
  GYM_INLINE Real offchip_words_per_cycle() const { return real(offchip_words()) / real(cycles); }
  GYM_INLINE Real input_multicast() const {
    return real(l2().unit_input) / real(l2().fetched_input);
  }
  GYM_INLINE Real filter_multicast() const {
    return real(l2().unit_filter) / real(l2().fetched_filter);
  }
  GYM_INLINE Real input_reuse() const { return real(macs) / real(l1().unit_input); }
  GYM_INLINE Real filter_reuse() const { return real(macs) / real(l1().unit_filter); }
  GYM_INLINE Real average(const BasicSpan<Number>& span) const {
    return real(span.sum) / real(profile.steps);
  }

 private:
  GYM_INLINE void price(const Hardware& hardware) {
    const Real l1_bytes = bytes(l1_total(), hardware);
    const Real l2_bytes = bytes(plan.used, hardware);
    energy_nj =
        hardware.energies.total_nj(number<Real>(macs), real(l1_accesses + mid_accesses),
                                   real(l2_accesses), real(noc_words()), real(offchip_words()));
    const BasicAreaPower<Real> silicon = area_power(
        hardware.num_pes, hardware.simd_lanes, hardware.noc_bw, l1_bytes, l2_bytes, PeSum::product);
    area_um2 = silicon.area_um2;
    power_mw = silicon.power_mw;
    buffered_area_um2 = gym::buffered_area_um2(hardware, l1_bytes, l2_bytes);
  }
};
using Report = BasicReport<Count>;

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
