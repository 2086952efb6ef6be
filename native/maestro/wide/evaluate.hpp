// Two-level mappings evaluated side by side: the same figures as those of ../analysis.hpp, bit for
// bit, but for averages, see Problem::finish.
#pragma once

#include "../../wide/lanes.hpp"
#include "top.hpp"

namespace gym::maestro::wide {
namespace {

// Says whose figures are right: mappings whose PEs wait, or that are special to the binary, are
// not.
GYM_INLINE WideFlag evaluate(const Problem& problem, const WideTiling& tiling, Detail,
                             BasicMetrics<Wide>& figures) {
  const Level top_level = cut_level(problem, tiling.level[0], nullptr);
  const Level level_below = cut_level(problem, tiling.level[1], &top_level);
  const Below below(problem, top_level, level_below);
  const WideFlag regular = is_regular(problem, top_level) & below.right();
  if (!any(regular)) return regular;
  Top top(problem, top_level, below);
  fill(top.run(), problem.hardware, figures);
  return regular & top.counts_exactly();
}

}  // namespace
}  // namespace gym::maestro::wide
