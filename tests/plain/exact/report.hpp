// All results of the exact model by name (E5, E6).
#pragma once

#include <array>
#include <cstdint>

#include "box.hpp"
#include "offchip.hpp"
#include "traffic.hpp"

namespace gym::exact {

// Buffers of the clusters of one level.
struct ClusterBuffers {
  LevelWords written;  // unit writes of this level
  LevelWords read;     // fetched and leaving words of the level below
  std::int64_t size = 0;
};

// What the parts of the model find out about a tiling.
struct Findings {
  std::int64_t onchip_cycles = 0;
  std::int64_t busy_pe_cycles = 0;
  std::array<LevelWords, kMaxLevels> words;
  Profile profile;
};

struct Report {
  std::int64_t macs = 0;
  std::int64_t cycles = 0, onchip_cycles = 0, busy_pe_cycles = 0;
  LevelWords l2;  // words of the outermost level
  LevelWords l1;  // words of the innermost level
  L2Plan plan;
  PerTensor words{};
  int cluster_levels = 0;
  std::array<ClusterBuffers, kMaxLevels> clusters{};
  std::int64_t l1_size = 0, l1_share = 0;
  std::int64_t l1_accesses = 0, l2_accesses = 0, mid_accesses = 0;
  Profile profile;
  double energy_nj = 0, area_um2 = 0, power_mw = 0, block_area_um2 = 0;

  std::int64_t l1_total() const { return l1_size + l1_share; }
  std::int64_t psum_reads() const { return l2.leaving - words[kOutput]; }
  std::int64_t output_l2_writes() const { return l2.leaving + plan.offchip_in[kOutput]; }
  std::int64_t output_l2_reads() const { return psum_reads() + plan.offchip_out; }
  std::int64_t fetched() const { return l2.fetched_input + l2.fetched_filter; }
  std::int64_t offchip_words() const { return plan.words_in() + plan.offchip_out; }

  double macs_per_cycle() const { return ratio(macs, cycles); }
  double active_pes() const { return ratio(busy_pe_cycles, cycles); }
  double utilization(const Hardware& hardware) const {
    return static_cast<double>(macs) /
           (static_cast<double>(cycles) * hardware.num_pes * hardware.simd_lanes);
  }
  double arithmetic_intensity() const { return ratio(macs, fetched()); }
  double noc_words_per_cycle() const { return ratio(fetched() + l2.leaving, onchip_cycles); }
  double offchip_words_per_cycle() const { return ratio(offchip_words(), cycles); }
  double input_multicast() const { return ratio(l2.unit_input, l2.fetched_input); }
  double filter_multicast() const { return ratio(l2.unit_filter, l2.fetched_filter); }
  double input_reuse() const { return ratio(macs, l1.unit_input); }
  double filter_reuse() const { return ratio(macs, l1.unit_filter); }
  double average(const Span& span) const { return ratio(span.sum, profile.steps); }

 private:
  static double ratio(std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
  }
};

// Overwrites the whole report: reports are large and kept between calls.
void write_report(const LoopNest& nest, const Tiling& tiling, const Hardware& hardware,
                  const Findings& findings, Report& report);

}  // namespace gym::exact
