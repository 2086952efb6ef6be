// Two-level mappings evaluated side by side: the same figures as those of ../model.hpp, bit for
// bit.
#pragma once

#include "../../wide/lanes.hpp"
#include "../report.hpp"
#include "timer.hpp"
#include "traffic.hpp"

namespace gym::exact::wide {
namespace {

GYM_INLINE void size_buffers(const Problem& problem, const WideTiling& tiling,
                             BasicReport<Wide>& report) {
  std::array<Wide, kMaxLoops> tile;
  for (int d = 0; d < problem.loops; ++d) tile[d] = number<Wide>(problem.loop[d].extent);
  for (std::size_t j = 0; j < tiling.level.size(); ++j) {
    for (int d = 0; d < problem.loops; ++d) tile[d] = least(tiling.level[j].tile[d], tile[d]);
    report.buffer[j] = tile_words(problem, tile).buffer();
  }
  report.l1_share = ceil_div(report.buffer[0], tiling.level[1].units);
}

// Says whose figures are right: mappings whose PEs wait are not.
GYM_INLINE WideFlag evaluate(const Problem& problem, const WideTiling& tiling, Detail detail,
                             BasicMetrics<Wide>& figures) {
  const WidePartition partition(problem, tiling);
  const WideFlag right = (tiling.level[0].units >= 1) & pes_never_wait(problem, partition);
  if (!any(right)) return right;
  BasicReport<Wide> report;
  report.levels = static_cast<int>(tiling.level.size());
  report.words[0] = LevelTraffic(problem, partition.top).words();
  report.words[1] = LevelTraffic(problem, partition.below).words();
  report.busy_pe_cycles = number<Wide>(problem.totals.macs);
  size_buffers(problem, tiling, report);
  const Movers movers(problem, partition);
  const bool costs = detail == Detail::costs;
  if (!costs || any(right & ~compute_all(problem, movers, report))) {
    Walk(problem, movers, !costs).run(report.onchip_cycles, report.profile);
  }
  report.conclude(problem.totals, problem.hardware);
  fill(report, problem.hardware, detail, figures);
  return right;
}

}  // namespace
}  // namespace gym::exact::wide
