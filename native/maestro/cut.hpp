// How a level cuts one loop, in one mapping or in several: the tile, the states the loop goes
// through, and the units its last round keeps busy.
#pragma once

#include "../core/numbers.hpp"

namespace gym::maestro {

// As a C int of the binary. Lanes are not right where that would wrap around.
GYM_INLINE Count narrow(Count value) { return wrap32(value); }
GYM_INLINE Wide narrow(Wide value) { return value; }

// How often an offset goes into a distance: none if a lane's distance is negative.
GYM_INLINE Count steps_in(Count distance, Count offset) { return distance / offset; }
GYM_INLINE Wide steps_in(Wide distance, Wide offset) {
  return floor_div(most(distance, Wide{}), offset);
}

template <typename Number>
using Flag = decltype(Number{} < Number{});

// A whole tile, its new part in the next step, the remainder, and the new part of the remainder.
template <typename Number>
struct BasicTile {
  Number full, fresh, edge, fresh_edge;
};

// The states a loop goes through: Init, then Steady and Edge as often as these say.
template <typename Number>
struct BasicStates {
  Number steady, edge;
  Flag<Number> unrolled;  // of Init
  Flag<Number> partial;   // Init is at an edge itself; it is the only state then
  Flag<Number> ragged;    // of the state at an edge, whichever that is
};

// A tile and its distance from the next.
template <typename Number>
struct BasicStride {
  Number size, offset;
};

// S4.2 step 4: a tile of a strided axis shrinks to the rows its outputs touch.
template <typename Number>
GYM_INLINE BasicStride<Number> shrink_tile(Number size, Number stride, Number window,
                                           bool below_top) {
  const Number outputs = steps_in(narrow(size + stride - window), stride);
  const Number touched = least(stride, window);
  return {narrow(outputs * touched + most(narrow(window - stride), Number{})),
          narrow(outputs * (below_top ? touched : stride))};
}

// S6.1
template <typename Number>
GYM_INLINE BasicTile<Number> cut_tile(Number size, Number offset, Number extent,
                                      Flag<Number> spatial) {
  const Number steps = most(steps_in(narrow(extent - size), offset), Number{});
  const auto partial = (narrow(steps * offset + size) < extent) | (size > extent);
  const Number left = narrow(extent - (steps + 1) * offset);
  const Number rest = select(left < Number{}, extent, left);
  const Number advance = least(size, offset);
  BasicTile<Number> tile;
  tile.full = size;
  tile.fresh = select(extent <= size, select(spatial, advance, Number{}), advance);
  tile.edge = select(partial, rest, size);
  tile.fresh_edge = most(narrow(offset - (size - rest)), Number{});
  return tile;
}

// S6.1: the outputs of a tile of an axis that slides.
template <typename Number>
GYM_INLINE BasicTile<Number> cut_outputs(const BasicTile<Number>& tile, Number offset,
                                         const BasicTile<Number>& window) {
  BasicTile<Number> outputs;
  outputs.full = narrow(tile.full - window.full + 1);
  outputs.fresh = least(offset, tile.full);
  outputs.edge = narrow(tile.edge - window.edge + 1);
  outputs.fresh_edge = least(offset, outputs.edge);
  return outputs;
}

// S5.1
template <typename Number>
GYM_INLINE BasicStates<Number> temporal_states(Number size, Number offset, Number extent) {
  BasicStates<Number> states;
  states.unrolled = extent <= size;
  states.partial = extent < size;
  states.ragged = Number{} < Number{};
  const Number steps = select(states.partial, Number{}, steps_in(narrow(extent - size), offset));
  states.steady = most(narrow(steps), Number{});
  states.edge = select(narrow(steps * offset + size) < extent, number<Number>(1), Number{});
  return states;
}

// Units with work in a round that begins so far before the end.
template <typename Number>
GYM_INLINE Number busy_units(Number size, Number offset, Number rest) {
  return select(rest < size, Number{}, steps_in(narrow(rest - size), offset)) + 1;
}

// S5.2
template <typename Number>
GYM_INLINE BasicStates<Number> spatial_states(Number size, Number offset, Number units,
                                              Number extent) {
  const Number reach = narrow(size + offset * narrow(units - 1));
  const Number round = narrow(offset * units);
  const Number tiles = steps_in(narrow(extent - size), offset) + 1;
  const Number steps = steps_in(tiles, units) - 1;
  const auto ends =
      (narrow((steps + 1) * round + reach) > extent) & (narrow(steps * round + reach) != extent);
  const Number rest = narrow(extent - (steps + 1) * round);
  const auto remains = narrow((busy_units(size, offset, rest) - 1) * offset + size) < rest;
  BasicStates<Number> states;
  states.unrolled = extent <= reach;
  states.partial = extent < reach;
  states.ragged = states.unrolled ? states.partial : ends & remains;
  states.steady = select(states.unrolled, Number{}, most(narrow(steps), Number{}));
  states.edge = select(states.unrolled, Number{}, select(ends, number<Number>(1), Number{}));
  return states;
}

// S4.4: units that work in the last round.
template <typename Number>
GYM_INLINE Number edge_units(Number size, Number offset, Number units, Number extent) {
  const Number tiles = steps_in(narrow(extent - size), offset) + 1;
  const auto partial = narrow(offset * (tiles - 1) + size) < extent;
  const Number round = narrow(offset * units);
  const Number rest = narrow(extent - steps_in(tiles, units) * round);
  const Number one = number<Number>(1);
  const Number in_one_round = select(extent > size, tiles + select(partial, one, Number{}), one);
  const auto several_rounds = extent > narrow(offset * narrow(units - 1) + size);
  return narrow(select(several_rounds, busy_units(size, offset, rest), in_one_round));
}

}  // namespace gym::maestro
