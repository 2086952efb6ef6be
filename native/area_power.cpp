#include "area_power.hpp"

#include <algorithm>

#include "constants.hpp"

namespace gym {

namespace {

using namespace constants;

double over_pes(double value, std::int32_t num_pes, PeSum sum) {
  if (sum == PeSum::product) return value * num_pes;
  double total = 0;
  for (std::int32_t pe = 0; pe < num_pes; ++pe) total += value;
  return total;
}

}  // namespace

AreaPower area_power(std::int32_t num_pes, std::int32_t simd_lanes, std::int32_t noc_bw,
                     double l1_bytes, double l2_bytes, PeSum sum) {
  const double pes = num_pes;
  const double l1 = l1_bytes == 0 ? 1 : l1_bytes;
  const double l2 = l2_bytes == 0 ? 1 : l2_bytes;
  const double pe_power = kPePowerPerLane * simd_lanes;
  const double l1_power = kBufferPowerPerByte * l1;
  const double l2_power = kBufferPowerPerByte * l2;
  const double bus = kBusPerPe * pes + kBusBase;
  const double arbiter = kArbiterSquare * (pes * pes) + kArbiterLinear * pes + kArbiterBase;
  const double bus_area = kBusArea * bus * noc_bw;
  const double bus_power = kBusMicrowatt * bus / 1000 * noc_bw;
  const double arbiter_area = std::max(kArbiterArea * arbiter, kArbiterArea);
  const double arbiter_power = std::max(kArbiterPower * arbiter / 1000, kArbiterPower);
  const double pe_area = kPeAreaPerLane * simd_lanes + kBufferAreaPerByte * l1;
  AreaPower result;
  result.area_um2 =
      over_pes(pe_area, num_pes, sum) + kBufferAreaPerByte * l2 + (bus_area + arbiter_area);
  result.power_mw =
      over_pes(pe_power + l1_power, num_pes, sum) + l2_power + (bus_power + arbiter_power);
  result.pe_power_mw = over_pes(pe_power, num_pes, sum);
  result.l1_power_mw = over_pes(l1_power, num_pes, sum);
  result.l2_power_mw = l2_power;
  result.noc_power_mw = bus_power + arbiter_power;
  return result;
}

}  // namespace gym
