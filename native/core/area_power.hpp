// Area and power of an accelerator whose buffers hold what a mapping requires, for both models.
#pragma once

#include <algorithm>
#include <cstdint>

#include "constants.hpp"
#include "hardware.hpp"
#include "numbers.hpp"

namespace gym {

// Area in um^2 with the L1 of every PE and the L2 that a mapping needs: that of the technology, or
// of the blocks of GAMMA and ArchGym.
template <typename Number>
GYM_INLINE Number buffered_area_um2(const Hardware& hardware, Number l1_bytes, Number l2_bytes) {
  using namespace constants;
  const Areas& areas = hardware.areas;
  if (areas.given()) {
    return (l1_bytes * areas.l1_um2 + areas.pe_um2) * static_cast<double>(hardware.num_pes) +
           l2_bytes * areas.l2_um2;
  }
  return hardware.num_pes * kPeArea + round_up(l2_bytes / kL2BlockBytes) * kL2BlockArea +
         round_up(l1_bytes / kL1BlockBytes) * kL1BlockArea * static_cast<double>(hardware.num_pes);
}

// How per-PE figures are totalled: as the binary does, one PE at a time, or as a product. They
// differ in the last bits only; the first is what the CSV prints, the second is fast.
enum class PeSum : std::uint8_t { repeated, product };

// MAESTRO's (S9).
template <typename Number>
struct BasicAreaPower {
  Number area_um2;
  Number power_mw;
  Number l1_power_mw, l2_power_mw;
  double pe_power_mw, noc_power_mw;
};
using AreaPower = BasicAreaPower<double>;

template <typename Number>
GYM_INLINE Number over_pes(Number value, std::int32_t num_pes, PeSum sum) {
  if (sum == PeSum::product) return value * static_cast<double>(num_pes);
  Number total{};
  for (std::int32_t pe = 0; pe < num_pes; ++pe) total += value;
  return total;
}

template <typename Number>
GYM_INLINE BasicAreaPower<Number> area_power(std::int32_t num_pes, std::int32_t simd_lanes,
                                             std::int32_t noc_bw, Number l1_bytes, Number l2_bytes,
                                             PeSum sum) {
  using namespace constants;
  const double pes = num_pes;
  const Number none{};
  const Number l1 = select(l1_bytes == none, number<Number>(1), l1_bytes);
  const Number l2 = select(l2_bytes == none, number<Number>(1), l2_bytes);
  const double pe_power = kPePowerPerLane * simd_lanes;
  const Number l1_power = kBufferPowerPerByte * l1;
  const Number l2_power = kBufferPowerPerByte * l2;
  const double bus = kBusPerPe * pes + kBusBase;
  const double arbiter = kArbiterSquare * (pes * pes) + kArbiterLinear * pes + kArbiterBase;
  const double bus_area = kBusArea * bus * noc_bw;
  const double bus_power = kBusMicrowatt * bus / 1000 * noc_bw;
  const double arbiter_area = std::max(kArbiterArea * arbiter, kArbiterArea);
  const double arbiter_power = std::max(kArbiterPower * arbiter / 1000, kArbiterPower);
  const Number pe_area = kPeAreaPerLane * simd_lanes + kBufferAreaPerByte * l1;
  return {over_pes(pe_area, num_pes, sum) + kBufferAreaPerByte * l2 + (bus_area + arbiter_area),
          over_pes(pe_power + l1_power, num_pes, sum) + l2_power + (bus_power + arbiter_power),
          over_pes(l1_power, num_pes, sum),
          l2_power,
          over_pes(pe_power, num_pes, sum),
          bus_power + arbiter_power};
}

}  // namespace gym
