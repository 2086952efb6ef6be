// The instruction sets that lane code is compiled for.
#pragma once

#include <array>
#include <span>

#include "columns.hpp"

namespace gym {

// A model's code for one of them.
template <typename Problem>
struct Target {
  const char* name;
  int lanes;
  // Evaluates the first `size` mappings of a block.
  void (*evaluate)(const Problem& problem, const TilingColumns& tilings, int size, Detail detail,
                   ResultColumns& results);
};

// How many of them this processor supports. The first is what every processor has: two lanes, of
// SSE2 or NEON. The others are of x86-64.
inline std::size_t supported_targets() {
#ifdef __x86_64__
  if (!__builtin_cpu_supports("avx2")) return 1;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl")
             ? 3
             : 2;
#else
  return 1;
#endif
}

// A model's code for these, fewest lanes first.
template <typename Problem>
std::span<const Target<Problem>* const> targets() {
  static constexpr std::array all = {&Problem::kBaseline,
#ifdef __x86_64__
                                     &Problem::kAvx2, &Problem::kAvx512
#endif
  };
  return std::span(all).first(supported_targets());
}

// The fastest of these for blocks, and for a mapping alone: with many lanes it only waits longer.
template <typename Problem>
const Target<Problem>& target_for_blocks() {
  return *targets<Problem>().back();
}
template <typename Problem>
const Target<Problem>& target_for_one() {
  return *targets<Problem>()[supported_targets() > 1 ? 1 : 0];
}

}  // namespace gym
