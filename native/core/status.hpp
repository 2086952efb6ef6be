// What became of one mapping: the single list of statuses, shared with Python by name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gym {

// First ill-formed input in the order it is looked for; then capacities, whose rows keep valid
// results; then how the MAESTRO binary dies; then the guard, whose rows no machine could achieve.
// The last two are of accelerators with any memories: stored data keep the codes of the others.
// clang-format off
#define GYM_STATUSES(X) \
  X(ok) \
  X(bad_hw) X(bad_layer) X(bad_tile) X(too_many_levels) X(cluster_exceeds_pes) \
  X(coverage) X(bad_spatial) X(overflow) \
  X(l1_overflow) X(l2_overflow) \
  X(reference_exit) X(reference_sigfpe) X(reference_abort) X(reference_segv) \
  X(reference_undefined) \
  X(mac_mismatch) X(above_peak) X(below_pe_load) X(below_compulsory) \
  X(fanout_exceeded) X(pool_overflow)
// clang-format on

enum class Status : std::uint8_t {
#define GYM_ENUMERATOR(name) name,
  GYM_STATUSES(GYM_ENUMERATOR)
#undef GYM_ENUMERATOR
};

inline constexpr std::array kStatusNames = {
#define GYM_NAME(name) std::string_view(#name),
    GYM_STATUSES(GYM_NAME)
#undef GYM_NAME
};

}  // namespace gym
