// One loop of a level cut to a box (E4.1), and sums over such (E4.6), in one mapping or in several.
#pragma once

#include <array>

#include "../core/numbers.hpp"

namespace gym::exact {

// Index 0 of an array: at any position before the last; 1: at the last.
template <typename Number>
struct BasicCut {
  Number tile, tail;  // the tail is the last chunk, at most a tile
  Number chunks;
  Number steps;                  // chunks dealt to the units in rounds
  Number advance;                // from one array tile to the next
  std::array<Number, 2> array;   // extent of the array's tile
  std::array<Number, 2> active;  // units at work

  GYM_INLINE auto moves() const { return steps > 1; }
  GYM_INLINE Number largest_array() const { return select(moves(), array[0], array[1]); }
  // Of the busiest unit along a loop that is dealt to units: one with a whole tile is as slow as
  // many.
  GYM_INLINE Number last_tile() const { return select(active[1] > 1, tile, tail); }
};
using Cut = BasicCut<Count>;

// Boxes of a level that have one extent in a loop.
template <typename Number>
struct BasicBoxes {
  Number extent, boxes;
  BasicCut<Number> cut;

  // Work of the busiest unit in every step, summed over the steps of a box.
  template <typename Flag>
  GYM_INLINE Number busiest(Flag spatial) const {
    if constexpr (std::is_same_v<Flag, bool>) {
      // One mapping need not have the rest computed.
      if (!spatial) return extent;
    }
    return select(spatial, (cut.steps - 1) * cut.tile + cut.last_tile(), extent);
  }
};

// Extents fit 32 bits, whose divisions are cheaper.
GYM_INLINE Count chunks_of(Count whole, Count part) {
  if (part >= whole) return 1;
  if (part == 1) return whole;
  return (static_cast<std::uint32_t>(whole) - 1) / static_cast<std::uint32_t>(part) + 1;
}
GYM_INLINE Wide chunks_of(Wide whole, Wide part) { return ceil_div(whole, part); }

// A loop over `extent` in tiles, dealt to `units`; a temporal loop has one.
template <typename Number>
GYM_INLINE BasicCut<Number> cut_loop(Number extent, Number tile, Number units) {
  BasicCut<Number> cut;
  cut.tile = least(tile, extent);
  cut.chunks = chunks_of(extent, cut.tile);
  cut.tail = extent - (cut.chunks - 1) * cut.tile;
  cut.steps = chunks_of(cut.chunks, units);
  const Number done = (cut.steps - 1) * units;
  cut.advance = units * cut.tile;
  cut.array = {cut.advance, extent - done * cut.tile};
  cut.active = {units, cut.chunks - done};
  return cut;
}

// A loop that is not cut: one chunk, one step.
inline Cut whole(std::int64_t extent) {
  return {extent, extent, 1, 1, extent, {extent, extent}, {1, 1}};
}

// What a loop contributes to a sum over movers: as the mover, outside it, inside it.
template <typename Number>
struct BasicFactor {
  Number mover, outside, inside;
};
using Factor = BasicFactor<Count>;

// Of a loop over all boxes of a level.
template <typename Number>
struct BasicSums {
  Number boxes, steps, chunks;
  Number active_first, active_last;  // units at work at first and last positions
  // Of boxes in which the loop does not move: how many, their chunks, their extents.
  Number still_boxes, still_chunks, still;

  GYM_INLINE void add(const BasicBoxes<Number>& all) {
    const auto [extent, times, cut] = all;
    const auto moves = cut.moves();
    const Number these = times * cut.chunks;
    boxes += times;
    steps += times * cut.steps;
    chunks += these;
    active_first += times * select(moves, cut.active[0], cut.active[1]);
    active_last += times * cut.active[1];
    still_boxes += select(moves, Number{}, times);
    still_chunks += select(moves, Number{}, these);
    still += select(moves, Number{}, times * extent);
  }

  GYM_INLINE Number moves() const { return steps - boxes; }
  // Units at work after a move, all of which were so before it.
  GYM_INLINE Number moved_units() const { return chunks - active_first; }

  // Tiles along a loop of the tensor add up to it, and are new with every move.
  GYM_INLINE BasicFactor<Number> own(Number extent) const { return {Number{}, extent, still}; }
  // Others repeat it step by step, or unit by unit.
  GYM_INLINE BasicFactor<Number> copies() const { return {moves(), steps, boxes}; }
  GYM_INLINE BasicFactor<Number> copies_for_units() const {
    return {moved_units(), chunks, active_last};
  }
};
using Sums = BasicSums<Count>;

}  // namespace gym::exact
