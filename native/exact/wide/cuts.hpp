// How two levels cut the loops of several mappings: see ../partition.hpp.
#pragma once

#include <array>

#include "../../wide/lanes.hpp"
#include "../cut.hpp"
#include "problem.hpp"

namespace gym::exact::wide {
namespace {

GYM_INLINE Wide rows(const Axis& axis, Wide outputs) { return outputs * axis.step + axis.halo; }
// Rows left of a tile of so many outputs, `advance` outputs later.
GYM_INLINE Wide left(const Axis& axis, Wide outputs, Wide advance) {
  return most(Wide{}, axis.halo - (advance * axis.stride - outputs * axis.step));
}

// What a loop of this extent contributes to the words of a tile.
GYM_INLINE BasicTileWords<Wide> words_along(const Loop& loop, Wide extent) {
  const Wide one = number<Wide>(1);
  const Wide input = loop.axis != nullptr ? rows(*loop.axis, extent) : extent;
  return {loop.id == kLoopK ? one : input, loop.in_filter ? extent : one,
          loop.in_output ? extent : one};
}

// What all contribute that is never cut.
GYM_INLINE BasicTileWords<Wide> whole_words(const Problem& problem) {
  return {number<Wide>(problem.still_rows), number<Wide>(problem.window), number<Wide>(1)};
}

GYM_INLINE BasicTileWords<Wide> tile_words(const Problem& problem,
                                           const std::array<Wide, kMaxLoops>& tile) {
  BasicTileWords<Wide> words = whole_words(problem);
  for (int d = 0; d < problem.loops; ++d) {
    const BasicTileWords<Wide> along = words_along(problem.loop[d], tile[d]);
    words.input *= along.input;
    words.filter *= along.filter;
    words.output *= along.output;
  }
  return words;
}

GYM_INLINE BasicBoxes<Wide> cut_boxes(Wide extent, Wide boxes, Wide tile, Wide units) {
  return {extent, boxes, cut_loop(extent, tile, units)};
}

// A loop at one level. Boxes below the top have one of two extents, which may be equal.
struct WideLevelLoop {
  std::array<BasicBoxes<Wide>, 2> variant;
  int variants;
  BasicSums<Wide> sums;
  WideFlag spatial;
  Wide place;  // in the level's order, 0 outermost

  GYM_INLINE void sum() {
    sums = BasicSums<Wide>{};
    for (int i = 0; i < variants; ++i) sums.add(variant[i]);
  }
};

// By loop.
struct WidePartition {
  std::array<WideLevelLoop, kMaxLoops> top, below;

  GYM_INLINE WidePartition(const Problem& problem, const WideTiling& tiling) {
    const Wide one = number<Wide>(1);
    for (int d = 0; d < problem.loops; ++d) {
      place(tiling.level[0], d, top[d]);
      place(tiling.level[1], d, below[d]);
      const Wide outer_units = select(top[d].spatial, tiling.level[0].units, one);
      const Wide inner_units = select(below[d].spatial, tiling.level[1].units, one);
      const Wide extent = number<Wide>(problem.loop[d].extent);
      const BasicBoxes<Wide> outer = cut_boxes(extent, one, tiling.level[0].tile[d], outer_units);
      const Wide inner = tiling.level[1].tile[d];
      top[d].variants = 1;
      top[d].variant[0] = outer;
      below[d].variants = 2;
      below[d].variant[0] = cut_boxes(outer.cut.tile, outer.cut.chunks - 1, inner, inner_units);
      below[d].variant[1] = cut_boxes(outer.cut.tail, one, inner, inner_units);
      top[d].sum();
      below[d].sum();
    }
  }

 private:
  GYM_INLINE static void place(const WideTiling::Level& level, int d, WideLevelLoop& loop) {
    loop.place = level.place[d];
    loop.spatial = level.spatial == number<Wide>(d);
  }
};

}  // namespace
}  // namespace gym::exact::wide
