// How two levels cut the loops of several mappings: Cut, Variant and Sums side by side.
#pragma once

#include <array>

#include "wide.hpp"

namespace gym::exact::wide {

inline constexpr int kMaxLoops = 6;  // that a space tiles

// Of one extent in a loop at a level.
struct WideCut {
  Wide extent, tile, tail, chunks, steps, units;
  Wide array_last;   // array tile at the last position; before it, units * tile
  Wide active_last;  // units at work there; before it, all

  Mask moves() const { return steps > 1; }
  Wide advance() const { return units * tile; }
};

GYM_INLINE WideCut cut_loop(Wide extent, Wide tile, Wide units) {
  WideCut cut;
  cut.extent = extent;
  cut.units = units;
  cut.tile = least(tile, extent);
  cut.chunks = ceil_div(extent, cut.tile);
  cut.tail = extent - (cut.chunks - 1) * cut.tile;
  cut.steps = ceil_div(cut.chunks, units);
  const Wide done = (cut.steps - 1) * units;
  cut.array_last = extent - done * cut.tile;
  cut.active_last = cut.chunks - done;
  return cut;
}

// Over all boxes of a level.
struct WideSums {
  Wide boxes{}, steps{}, chunks{}, active_first{}, active_last{};
  Wide still_boxes{}, still_chunks{}, still{};

  GYM_INLINE void add(const WideCut& cut, Wide times) {
    const Wide none{};
    const Mask moves = cut.moves();
    boxes += times;
    steps += times * cut.steps;
    chunks += times * cut.chunks;
    active_first += times * (moves ? cut.units : cut.active_last);
    active_last += times * cut.active_last;
    still_boxes += moves ? none : times;
    still_chunks += moves ? none : times * cut.chunks;
    still += moves ? none : times * cut.extent;
  }
};

// A loop at both levels. Below the top its boxes have one of two extents: a whole tile of the
// level above (0), or what is left over (1).
struct WideLoop {
  WideCut top;
  std::array<WideCut, 2> below;
  WideSums top_sums, below_sums;
};

GYM_INLINE WideLoop cut_twice(double extent, Wide outer, Wide outer_units, Wide inner,
                              Wide inner_units) {
  WideLoop loop;
  loop.top = cut_loop(all(extent), outer, outer_units);
  loop.top_sums.add(loop.top, all(1));
  loop.below[0] = cut_loop(loop.top.tile, inner, inner_units);
  loop.below[1] = cut_loop(loop.top.tail, inner, inner_units);
  loop.below_sums.add(loop.below[0], loop.top.chunks - 1);
  loop.below_sums.add(loop.below[1], all(1));
  return loop;
}

}  // namespace gym::exact::wide
