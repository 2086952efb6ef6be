// The accelerator a layer runs on.
#pragma once

#include <cstdint>
#include <limits>

#include "energy.hpp"

namespace gym {

inline constexpr std::int64_t kUnlimitedBytes = std::numeric_limits<std::int64_t>::max();

struct Hardware {
  std::int32_t num_pes = 1;
  std::int32_t simd_lanes = 1;   // MACs per PE and cycle
  std::int32_t noc_bw = 1;       // words per cycle, every level
  std::int64_t noc_latency = 0;  // cycles: hops times latency of a hop
  std::int32_t offchip_bw = 1;   // words per cycle
  std::int64_t l1_bytes = kUnlimitedBytes;
  std::int64_t l2_bytes = kUnlimitedBytes;
  // The exact model's only.
  std::int64_t word_bytes = 1;
  Energies energies;

  // Capacities in whole words.
  std::int64_t l1_words() const { return l1_bytes / word_bytes; }
  std::int64_t l2_words() const { return l2_bytes / word_bytes; }
};

}  // namespace gym
