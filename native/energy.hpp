// What work and words cost (E6).
#pragma once

#include "constants.hpp"
#include "numbers.hpp"

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

}  // namespace gym
