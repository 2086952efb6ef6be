// Evaluates a block of mappings, as many of them side by side as the instruction set has lanes for.
#pragma once

#include "block.hpp"
#include "top.hpp"

namespace gym::maestro::wide {
namespace {

// Says whose figures are right.
GYM_INLINE WideFlag evaluate(const Problem& problem, const WideTiling& tiling,
                             BasicMetrics<Wide>& figures) {
  const Level top_level = cut_level(problem, tiling.level[0], nullptr);
  const Level level_below = cut_level(problem, tiling.level[1], &top_level);
  const Below below(problem, top_level, level_below);
  Top top(problem, top_level, below);
  fill(top.run(), problem.hardware, figures);
  return top.right();
}

GYM_INLINE void evaluate_lanes(const Problem& problem, const TilingColumns& tilings,
                               ResultColumns& results) {
  BasicMetrics<Wide> figures;
  auto* columns = reinterpret_cast<Wide*>(&figures);
  std::fill_n(columns, kMetrics, number<Wide>(std::numeric_limits<double>::quiet_NaN()));
  for (int first = 0; first < kBlock; first += GYM_LANES) {
    const WideFlag right = evaluate(problem, load(tilings, problem.loops, first), figures);
    store(figures, right, first, results);
  }
}

}  // namespace
}  // namespace gym::maestro::wide
