// How two levels cut the loops of several mappings: see ../cut.hpp and ../partition.hpp.
#pragma once

#include <array>

#include "../../wide/lanes.hpp"
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

// Of all boxes that have one extent in a loop at a level.
struct WideCut {
  Wide extent, tile, tail, chunks, steps, units;
  Wide array_last;   // the array's tile at the last position; before it, `advance`
  Wide active_last;  // units at work there; before it, all
  Wide boxes;

  GYM_INLINE WideFlag moves() const { return steps > 1; }
  GYM_INLINE Wide advance() const { return units * tile; }
  GYM_INLINE Wide largest_array() const { return select(moves(), advance(), array_last); }
  // Work of the busiest unit in every step, summed over steps.
  GYM_INLINE Wide busiest(WideFlag spatial) const {
    const Wide last = select(active_last > 1, tile, tail);
    return select(spatial, (steps - 1) * tile + last, extent);
  }
};

GYM_INLINE WideCut cut_loop(Wide extent, Wide tile, Wide units, Wide boxes) {
  WideCut cut;
  cut.extent = extent;
  cut.units = units;
  cut.boxes = boxes;
  cut.tile = least(tile, extent);
  cut.chunks = ceil_div(extent, cut.tile);
  cut.tail = extent - (cut.chunks - 1) * cut.tile;
  cut.steps = ceil_div(cut.chunks, units);
  const Wide done = (cut.steps - 1) * units;
  cut.array_last = extent - done * cut.tile;
  cut.active_last = cut.chunks - done;
  return cut;
}

// Over all boxes of a level. Without initialisers: g++ 12 cannot compile a constructor of vectors
// that it writes itself when it does not optimise.
struct WideSums {
  Wide boxes, steps, chunks, active_first, active_last;
  Wide still_boxes, still_chunks, still;

  GYM_INLINE void add(const WideCut& cut) {
    const WideFlag moves = cut.moves();
    const Wide chunks_of_these = cut.boxes * cut.chunks;
    boxes += cut.boxes;
    steps += cut.boxes * cut.steps;
    chunks += chunks_of_these;
    active_first += cut.boxes * select(moves, cut.units, cut.active_last);
    active_last += cut.boxes * cut.active_last;
    still_boxes += select(moves, Wide{}, cut.boxes);
    still_chunks += select(moves, Wide{}, chunks_of_these);
    still += select(moves, Wide{}, cut.boxes * cut.extent);
  }
};

// A loop at one level. Boxes below the top have one of two extents, which may be equal.
struct WideLevelLoop {
  std::array<WideCut, 2> cut;
  int cuts;
  WideSums sums;
  WideFlag spatial;
  Wide place;  // in the level's order, 0 outermost

  GYM_INLINE void sum() {
    sums = WideSums{};
    for (int i = 0; i < cuts; ++i) sums.add(cut[i]);
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
      const WideCut outer = cut_loop(extent, tiling.level[0].tile[d], outer_units, one);
      const Wide inner = tiling.level[1].tile[d];
      top[d].cuts = 1;
      top[d].cut[0] = outer;
      below[d].cuts = 2;
      below[d].cut[0] = cut_loop(outer.tile, inner, inner_units, outer.chunks - 1);
      below[d].cut[1] = cut_loop(outer.tail, inner, inner_units, one);
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
