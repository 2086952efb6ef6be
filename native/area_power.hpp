// MAESTRO's area and power of an accelerator whose buffers hold what a mapping requires (S9), for
// both models.
#pragma once

#include <cstdint>

namespace gym {

// How per-PE figures are totalled: as the binary does, one PE at a time, or as a product. They
// differ in the last bits only; the first is what the CSV prints, the second is fast.
enum class PeSum : std::uint8_t { repeated, product };

struct AreaPower {
  double area_um2;
  double power_mw;
  double pe_power_mw, l1_power_mw, l2_power_mw, noc_power_mw;
};

AreaPower area_power(std::int32_t num_pes, std::int32_t simd_lanes, std::int32_t noc_bw,
                     double l1_bytes, double l2_bytes, PeSum sum);

}  // namespace gym
