// The instruction sets that lane code is compiled for.
#pragma once

#include <span>

#include "columns.hpp"

namespace gym {

namespace exact::wide {
struct Problem;
}
namespace maestro::wide {
struct Problem;
}

// Evaluates the first `size` mappings of a block.
template <typename Problem>
using EvaluateLanes = void (*)(const Problem& problem, const TilingColumns& tilings, int size,
                               Detail detail, ResultColumns& results);

struct Target {
  const char* name;
  int lanes;
  EvaluateLanes<exact::wide::Problem> exact;
  EvaluateLanes<maestro::wide::Problem> maestro;

  EvaluateLanes<exact::wide::Problem> of(const exact::wide::Problem&) const { return exact; }
  EvaluateLanes<maestro::wide::Problem> of(const maestro::wide::Problem&) const { return maestro; }
};

// The first is what every processor has: two lanes, of SSE2 or NEON. The others are of x86-64.
extern const Target kBaseline, kAvx2, kAvx512;

// Those this processor supports, fewest lanes first.
std::span<const Target* const> targets();

// The fastest of these for blocks, and for a mapping alone: with many lanes it only waits longer.
inline const Target& target_for_blocks() { return *targets().back(); }
inline const Target& target_for_one() { return *targets()[targets().size() > 1 ? 1 : 0]; }

}  // namespace gym
