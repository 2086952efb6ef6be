// The block-wise buffer area of GAMMA and ArchGym, for both models.
#pragma once

#include <cmath>

#include "constants.hpp"
#include "hardware.hpp"

namespace gym {

// In um^2, for the L1 of every PE and the L2 a mapping needs.
inline double block_area_um2(const Hardware& hardware, double l1_bytes, double l2_bytes) {
  using namespace constants;
  return hardware.num_pes * kPeArea + std::ceil(l2_bytes / kL2BlockBytes) * kL2BlockArea +
         std::ceil(l1_bytes / kL1BlockBytes) * kL1BlockArea * hardware.num_pes;
}

}  // namespace gym
