// The lane code of all models, to be included once for each target: GYM_LANES is how many mappings
// a register holds, GYM_INSTRUCTIONS the sets it needs beyond the architecture's own, if any.

// Functions of the standard library that others use too must run on any processor: their headers
// come before the instruction sets.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

// GCC takes operations on vectors apart where they are defined, not where they are inlined.
#ifdef GYM_INSTRUCTIONS
#define GYM_PRAGMA_OF(text) _Pragma(#text)
#define GYM_PRAGMA(text) GYM_PRAGMA_OF(text)
#ifdef __clang__
GYM_PRAGMA(clang attribute push(__attribute__((target(GYM_INSTRUCTIONS))), apply_to = function))
#else
GYM_PRAGMA(GCC target(GYM_INSTRUCTIONS))
#endif
#endif

#include "../exact/wide/evaluate.hpp"
#include "../maestro/wide/evaluate.hpp"
#include "target.hpp"

namespace gym {
namespace {

template <typename Problem, auto evaluate>
void evaluate_lanes(const Problem& problem, const TilingColumns& tilings, int size, Detail detail,
                    ResultColumns& results) {
  BasicMetrics<Wide> figures;
  // Models leave what they have no figure for.
  std::fill_n(reinterpret_cast<Wide*>(&figures), columns_of(detail),
              number<Wide>(std::numeric_limits<double>::quiet_NaN()));
  for (int first = 0; first < size; first += GYM_LANES) {
    const WideFlag right = evaluate(problem, load(tilings, problem.loops, first), detail, figures);
    store(figures, right, detail, first, results);
  }
}

constexpr Target target_named(const char* name) {
  return {name, GYM_LANES, evaluate_lanes<exact::wide::Problem, exact::wide::evaluate>,
          evaluate_lanes<maestro::wide::Problem, maestro::wide::evaluate>};
}

}  // namespace
}  // namespace gym

#if defined(GYM_INSTRUCTIONS) && defined(__clang__)
#pragma clang attribute pop
#endif
