#include "report.hpp"

#include <algorithm>

#include "../area.hpp"
#include "../area_power.hpp"
#include "../constants.hpp"
#include "../integers.hpp"

namespace gym::exact {

namespace {

using namespace constants;

std::int64_t tile_words(const LoopNest& nest, const Extents& tile) {
  const std::int64_t y = rows({tile[kLoopP], tile[kLoopR]}, nest.stride_y);
  const std::int64_t x = rows({tile[kLoopQ], tile[kLoopS]}, nest.stride_x);
  const std::int64_t input = tile[kLoopN] * tile[kLoopG] * tile[kLoopC] * y * x;
  const std::int64_t filter =
      tile[kLoopG] * tile[kLoopK] * tile[kLoopC] * tile[kLoopR] * tile[kLoopS];
  const std::int64_t output =
      tile[kLoopN] * tile[kLoopG] * tile[kLoopK] * tile[kLoopP] * tile[kLoopQ];
  return input + filter + output;
}

// Sizes of the buffers: those of clusters are pooled from the L1s of their PEs.
void size_buffers(const LoopNest& nest, const Tiling& tiling, Report& report) {
  Extents tile = nest.extent;
  report.l1_share = 0;
  for (int j = 0; j < tiling.levels; ++j) {
    const TiledLevel& level = tiling.level[j];
    for (int i = 0; i < level.count; ++i) tile[level.loops[i].id] = level.loops[i].tile;
    const std::int64_t size = 2 * tile_words(nest, tile);
    if (j + 1 == tiling.levels) {
      report.l1_size = size;
      return;
    }
    std::int64_t pes_below = 1;
    for (int below = j + 1; below < tiling.levels; ++below) pes_below *= tiling.level[below].units;
    report.clusters[j].size = size;
    report.l1_share += ceil_div(size, pes_below);
  }
}

void count_accesses(const Tiling& tiling, const Findings& findings, Report& report) {
  report.l2 = findings.words[0];
  report.l1 = findings.words[tiling.levels - 1];
  report.cluster_levels = tiling.levels - 1;
  report.mid_accesses = 0;
  for (int j = 0; j < report.cluster_levels; ++j) {
    ClusterBuffers& buffers = report.clusters[j];
    buffers.written = findings.words[j];
    buffers.read = findings.words[j + 1];
    // A word that leaves the level below is added to or sent on: written and read once.
    report.mid_accesses += buffers.written.unit_input + buffers.written.unit_filter +
                           buffers.read.fetched_input + buffers.read.fetched_filter +
                           2 * buffers.read.leaving;
  }
  report.l1_accesses = 4 * report.macs + report.l1.unit_input + report.l1.unit_filter;
  report.l2_accesses = report.l2.fetched_input + report.l2.fetched_filter +
                       report.plan.offchip_in[kInput] + report.plan.offchip_in[kFilter] +
                       report.output_l2_writes() + report.output_l2_reads();
}

void price(const Hardware& hardware, Report& report) {
  const double l1 = static_cast<double>(report.l1_accesses + report.mid_accesses);
  const double l2 = static_cast<double>(report.l2_accesses);
  const double offchip = static_cast<double>(report.offchip_words());
  report.energy_nj = kMacEnergyNj * (static_cast<double>(report.macs) + kL1AccessMacs * l1 +
                                     kL2AccessMacs * l2 + hardware.offchip_cost_macs * offchip);
  const AreaPower silicon = area_power(hardware.num_pes, hardware.simd_lanes, hardware.noc_bw,
                                       static_cast<double>(report.l1_total()),
                                       static_cast<double>(report.plan.used), PeSum::product);
  report.area_um2 = silicon.area_um2;
  report.power_mw = silicon.power_mw;
  report.block_area_um2 = block_area_um2(hardware, static_cast<double>(report.l1_total()),
                                         static_cast<double>(report.plan.used));
}

}  // namespace

void write_report(const LoopNest& nest, const Tiling& tiling, const Hardware& hardware,
                  const Findings& findings, Report& report) {
  report.macs = nest.macs();
  const Profile& profile = findings.profile;
  report.profile = profile;
  report.words = {nest.words(kInput), nest.words(kFilter), nest.words(kOutput)};
  const LevelWords& l2 = findings.words[0];
  const TileWords& largest = profile.array_tile;
  const PerTensor tile = {largest.input, largest.filter, largest.output};
  const PerTensor stream = {l2.fetched_input, l2.fetched_filter, l2.leaving};
  report.plan = plan_l2(report.words, stream, tile, hardware.l2_bytes);
  report.onchip_cycles = findings.onchip_cycles;
  report.busy_pe_cycles = findings.busy_pe_cycles;
  const std::int64_t offchip = report.offchip_words();
  report.cycles =
      std::max(ceil_div(profile.first_in, hardware.offchip_bw) + findings.onchip_cycles +
                   ceil_div(profile.last_out, hardware.offchip_bw),
               ceil_div(offchip, hardware.offchip_bw));
  size_buffers(nest, tiling, report);
  count_accesses(tiling, findings, report);
  price(hardware, report);
}

}  // namespace gym::exact
