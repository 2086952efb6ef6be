// The block-wise buffer area of GAMMA and ArchGym, for both models.
#pragma once

#include "constants.hpp"
#include "hardware.hpp"
#include "numbers.hpp"

namespace gym {

// In um^2, for the L1 of every PE and the L2 a mapping needs.
template <typename Number>
GYM_INLINE Number block_area_um2(const Hardware& hardware, Number l1_bytes, Number l2_bytes) {
  using namespace constants;
  return hardware.num_pes * kPeArea + round_up(l2_bytes / kL2BlockBytes) * kL2BlockArea +
         round_up(l1_bytes / kL1BlockBytes) * kL1BlockArea * static_cast<double>(hardware.num_pes);
}

}  // namespace gym
