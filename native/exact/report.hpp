// All results of the exact model by name (E5, E6), of one mapping or of several.
#pragma once

#include <array>
#include <cstdint>

#include "../core/area_power.hpp"
#include "../core/hardware.hpp"
#include "offchip.hpp"
#include "profile.hpp"
#include "traffic.hpp"

namespace gym::exact {

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

}  // namespace gym::exact
