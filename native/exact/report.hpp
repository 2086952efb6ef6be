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
};

// Overwrites the whole report: reports are large and kept between calls.
void write_report(const LoopNest& nest, const Tiling& tiling, const Hardware& hardware,
                  const Findings& findings, Report& report);

}  // namespace gym::exact
