// Words two levels move, of several mappings: see ../traffic.hpp. Windows are not cut.
#pragma once

#include "cuts.hpp"
#include "problem.hpp"

namespace gym::exact::wide {

// What a loop contributes to a sum over movers: as the mover, outside it, inside it.
struct Factor {
  Wide mover, outside, inside;
};
using Factors = std::array<Factor, kMaxLoops>;
using Places = std::array<Wide, kMaxLoops>;  // of the loops in a level's order, 0 outermost

GYM_INLINE Factor either(Mask mask, const Factor& a, const Factor& b) {
  return {mask ? a.mover : b.mover, mask ? a.outside : b.outside, mask ? a.inside : b.inside};
}

// Words of the tiles of all steps, less what stays from step to step.
GYM_INLINE Wide moved(const Factors& factors, const Places& places, int loops) {
  Wide total = all(1), inside = all(1), stays{};
  for (int place = loops; place-- > 0;) {
    Factor at = factors[0];
    for (int d = 1; d < loops; ++d) at = either(places[d] == all(place), factors[d], at);
    stays = at.mover * inside + at.outside * stays;
    inside *= at.inside;
    total *= at.outside;
  }
  return total - stays;
}

// Tiles are as long as the loop's.
GYM_INLINE Factor own(const WideSums& sums, double extent) { return {Wide{}, all(extent), sums.still}; }

// Tiles come again in every step, or for every unit.
GYM_INLINE Factor copies(const WideSums& sums) {
  return {sums.steps - sums.boxes, sums.steps, sums.boxes};
}
GYM_INLINE Factor unit_copies(const WideSums& sums) {
  return {sums.chunks - sums.active_first, sums.chunks, sums.active_last};
}

// Rows left of a tile of outputs, `advance` outputs later.
GYM_INLINE Wide left(const Axis& axis, Wide tile, Wide advance) {
  return most(Wide{}, axis.halo - (advance * axis.stride - tile * axis.step));
}

// Rows of a sliding axis along its output loop; of every unit's own tile if `units`.
GYM_INLINE Factor rows(const Axis& axis, const WideSums& sums, const WideCut* cuts,
                       const Wide* times, int variants, double extent, bool units) {
  const Wide none{};
  Factor rows;
  rows.outside = extent * axis.step + (units ? sums.chunks : sums.steps) * axis.halo;
  rows.inside =
      sums.still * axis.step + (units ? sums.still_chunks : sums.still_boxes) * axis.halo;
  rows.mover = (sums.steps - sums.boxes) * axis.halo;
  if (units) rows.mover = none;
  for (int v = 0; v < variants; ++v) {
    const WideCut& cut = cuts[v];
    const Wide back = (cut.steps - 1) * cut.advance();
    const Wide jump = units ? cut.active_last * left(axis, cut.tile, back)
                            : left(axis, cut.advance(), back);
    rows.inside += cut.moves() ? times[v] * jump : none;
    if (units) {
      const Wide moved = (cut.chunks - cut.units) * left(axis, cut.tile, cut.advance());
      rows.mover += cut.moves() ? times[v] * moved : none;
    }
  }
  return rows;
}

struct WideWords {
  Wide fetched_input, fetched_filter, unit_input, unit_filter, leaving;
};

}  // namespace gym::exact::wide
