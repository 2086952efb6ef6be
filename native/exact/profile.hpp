// What is reported of the steps of the outermost level (E5).
#pragma once

#include "tile.hpp"

namespace gym::exact {

template <typename Number>
struct BasicSpan {
  Number min, max, sum;

  // Of so many of one value, perhaps none.
  GYM_INLINE static BasicSpan of(Number value, Number times) {
    return {value, value, value * times};
  }
  GYM_INLINE void add(Number value, Number times) {
    const auto occurs = times > Number{};
    min = select(occurs, least(min, value), min);
    max = select(occurs, most(max, value), max);
    sum += value * times;
  }
};
using Span = BasicSpan<Count>;

template <typename Number>
struct BasicProfile {
  BasicSpan<Number> ingress, compute, egress;
  Number steps;
  Number peak_bw;
  Number first_in;
  Number last_out;
  BasicTileWords<Number> array_tile;  // the largest
};
using Profile = BasicProfile<Count>;

}  // namespace gym::exact
