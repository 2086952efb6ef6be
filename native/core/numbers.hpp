// The numbers formulas are written in: those of one mapping, or of several side by side.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "integers.hpp"

namespace gym {

// Code for several mappings is compiled for each kind of processor, with all that it calls in it.
// How many mappings is defined before this is included.
#define GYM_INLINE [[gnu::always_inline]] inline
#ifndef GYM_LANES
#define GYM_LANES 4
#endif

// Nothing is passed to code compiled otherwise but by reference.
#pragma GCC diagnostic ignored "-Wpsabi"

// One number a mapping. Integers below 2^53 are exact as doubles, which every processor multiplies
// and divides side by side.
using Wide = double __attribute__((vector_size(GYM_LANES * sizeof(double))));
using WideFlag = std::int64_t __attribute__((vector_size(GYM_LANES * sizeof(double))));
using Count = std::int64_t;

// A constant.
template <typename Number, typename Value>
GYM_INLINE Number number(Value value) {
  if constexpr (std::is_same_v<Number, Wide>) {
    return static_cast<double>(value) - Wide{};
  } else {
    return static_cast<Number>(value);
  }
}

GYM_INLINE double real(Count value) { return static_cast<double>(value); }
GYM_INLINE Wide real(Wide value) { return value; }

GYM_INLINE Count select(bool flag, Count a, Count b) { return flag ? a : b; }
GYM_INLINE double select(bool flag, double a, double b) { return flag ? a : b; }
GYM_INLINE Wide select(WideFlag flag, Wide a, Wide b) { return flag ? a : b; }

GYM_INLINE Count least(Count a, Count b) { return std::min(a, b); }
GYM_INLINE Wide least(Wide a, Wide b) { return a < b ? a : b; }
GYM_INLINE Count most(Count a, Count b) { return std::max(a, b); }
GYM_INLINE Wide most(Wide a, Wide b) { return a > b ? a : b; }

// For a >= 0 and b > 0, both below 2^51.
GYM_INLINE Wide floor_div(Wide a, Wide b) {
  // Adding and taking away 2^52 rounds to an integer: the quotient's floor or one more.
  const Wide big = number<Wide>(0x1p52);
  const Wide near = (a / b + big) - big;
  return near * b > a ? near - 1 : near;
}
GYM_INLINE Wide ceil_div(Wide a, Wide b) {
  const Wide down = floor_div(a, b);
  return down * b < a ? down + 1 : down;
}

// To the next integer, below 2^51.
GYM_INLINE double round_up(double value) { return std::ceil(value); }
GYM_INLINE Wide round_up(Wide value) {
  const Wide big = number<Wide>(0x1p52);
  const Wide near = (value + big) - big;
  return near < value ? near + 1 : near;
}

}  // namespace gym
