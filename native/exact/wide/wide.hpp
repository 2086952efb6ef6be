// Numbers of several mappings side by side. Integers below 2^53 are exact as doubles, which every
// processor multiplies and divides side by side.
#pragma once

#include <cstdint>

namespace gym::exact::wide {

inline constexpr int kLanes = 8;

using Wide = double __attribute__((vector_size(kLanes * sizeof(double))));
using Mask = std::int64_t __attribute__((vector_size(kLanes * sizeof(double))));

#define GYM_INLINE [[gnu::always_inline]] inline

GYM_INLINE Wide all(double value) { return value - Wide{}; }
GYM_INLINE Wide least(Wide a, Wide b) { return a < b ? a : b; }
GYM_INLINE Wide most(Wide a, Wide b) { return a > b ? a : b; }

// For integers a >= 0 and b > 0, a + 1 below 2^52.
GYM_INLINE Wide floor_div(Wide a, Wide b) {
  // Adding and taking away 2^52 rounds to an integer.
  const Wide big = all(0x1p52);
  const Wide near = (a / b + big) - big;
  return near * b > a ? near - 1 : near;
}

GYM_INLINE Wide ceil_div(Wide a, Wide b) {
  const Wide down = floor_div(a, b);
  return down * b < a ? down + 1 : down;
}

}  // namespace gym::exact::wide
