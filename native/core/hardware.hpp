// The accelerator a layer runs on, and what work and words cost on it (E6).
#pragma once

#include <cstdint>
#include <limits>

#include "constants.hpp"
#include "numbers.hpp"
#include "status.hpp"

namespace gym {

// Energies stay finite up to it.
inline constexpr double kMaxEnergy = 1e9;

// Energy of a MAC in nJ; in MACs those of an access to L1 or a cluster buffer and to L2, of a word
// that a unit takes in or sends up, and of a word between L2 and main memory.
struct Energies {
  double mac_nj = constants::kMacEnergyNj;
  double l1_macs = constants::kL1AccessMacs;
  double l2_macs = constants::kL2AccessMacs;
  double noc_macs = 0;
  double offchip_macs = 0;

  bool possible() const {
    const auto allowed = [](double each) { return each >= 0 && each <= kMaxEnergy; };
    return mac_nj > 0 && allowed(mac_nj) && allowed(l1_macs) && allowed(l2_macs) &&
           allowed(noc_macs) && allowed(offchip_macs);
  }

  // Of so many MACs, accesses and words: of counts that are no larger, no more, rounded or not.
  template <typename Number>
  GYM_INLINE Number total_nj(Number macs, Number l1, Number l2, Number noc, Number offchip) const {
    return mac_nj * (macs + l1_macs * l1 + l2_macs * l2 + noc_macs * noc + offchip_macs * offchip);
  }
};

// Area in um^2 of the MACs of a PE, of a byte of L1 and of L2; none for blocks of MAESTRO's.
struct Areas {
  double pe_um2 = 0;
  double l1_um2 = 0;
  double l2_um2 = 0;

  bool given() const { return pe_um2 > 0; }
};

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
  Areas areas;

  // Capacities in whole words.
  std::int64_t l1_words() const { return l1_bytes / word_bytes; }
  std::int64_t l2_words() const { return l2_bytes / word_bytes; }

  // What buffers of these sizes exceed, if anything.
  Status check_capacities(double required_l1_bytes, double required_l2_bytes) const {
    if (required_l1_bytes > static_cast<double>(l1_bytes)) return Status::l1_overflow;
    if (required_l2_bytes > static_cast<double>(l2_bytes)) return Status::l2_overflow;
    return Status::ok;
  }
};

}  // namespace gym
