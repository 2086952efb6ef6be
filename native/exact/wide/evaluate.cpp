#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

// For all of ours that follows: GCC takes operations on vectors apart where they are defined, not
// where they are inlined.
#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("avx2")
#endif

#include "../buffers.hpp"
#include "evaluate.hpp"
#include "timer.hpp"
#include "traffic.hpp"

namespace gym::exact::wide {

namespace {

GYM_INLINE void size_buffers(const Problem& problem, const WideTiling& tiling,
                             BasicFindings<Wide>& findings) {
  std::array<Wide, kMaxLoops> tile;
  for (int d = 0; d < problem.loops; ++d) tile[d] = number<Wide>(problem.loop[d].extent);
  for (std::size_t j = 0; j < tiling.level.size(); ++j) {
    for (int d = 0; d < problem.loops; ++d) tile[d] = least(tiling.level[j].tile[d], tile[d]);
    findings.buffer[j] = two_of(problem.tile_words(tile));
  }
  findings.sharers[0] = tiling.level[1].units;
}

GYM_INLINE void evaluate_here(const Problem& problem, const WideTiling& tiling,
                              BasicMetrics<Wide>& figures, WideFlag& right) {
  const WidePartition partition(problem, tiling);
  right = pes_never_wait(problem, partition);
  BasicFindings<Wide> findings;
  findings.words[0] = LevelTraffic(problem, partition.top).words();
  findings.words[1] = LevelTraffic(problem, partition.below).words();
  findings.busy_pe_cycles = number<Wide>(problem.totals.macs);
  size_buffers(problem, tiling, findings);
  const Movers movers(problem, partition);
  Walk(problem, movers).run(findings.onchip_cycles, findings.profile);
  BasicReport<Wide> report;
  report.write(problem.totals, static_cast<int>(tiling.level.size()), problem.hardware, findings);
  fill(report, problem.hardware, figures);
  figures.csv_energy_nj = number<Wide>(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

bool supported() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

void evaluate(const Problem& problem, const WideTiling& tiling, BasicMetrics<Wide>& figures,
              WideFlag& right) {
  evaluate_here(problem, tiling, figures, right);
}

}  // namespace gym::exact::wide
