#include "standard.hpp"

#ifdef __x86_64__
// GCC takes operations on vectors apart where they are defined, not where they are inlined.
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define GYM_LANES 4
#include "../exact/wide/evaluate.hpp"
#include "../maestro/wide/evaluate.hpp"

namespace gym {

void exact::wide::evaluate_avx2(const Problem& problem, const TilingColumns& tilings,
                                ResultColumns& results) {
  evaluate_lanes(problem, tilings, results);
}

void maestro::wide::evaluate_avx2(const Problem& problem, const TilingColumns& tilings,
                                  ResultColumns& results) {
  evaluate_lanes(problem, tilings, results);
}

}  // namespace gym

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
