// Words that tensors move, and the energy of moving them.
#pragma once

#include <array>

#include "../core/constants.hpp"
#include "../core/layer.hpp"
#include "../core/numbers.hpp"

namespace gym::maestro {

// Words of one tensor: L2 is the top level's upstream buffer, L1 what it fills.
template <typename Number>
struct BasicTraffic {
  Number l1_read{}, l1_write{}, l2_read{}, l2_write{};
  Number l2_size{};
};
using Traffic = BasicTraffic<Count>;

template <typename Number>
using BasicTraffics = std::array<BasicTraffic<Number>, kTensors>;
using Traffics = BasicTraffics<Count>;

// Every access is paid for, MACs included: what the CSV's energy leaves out (quirks Q1, Q2).
template <typename Number, typename Real = decltype(real(Number{}))>
GYM_INLINE Real total_energy_nj(Number macs, const BasicTraffics<Number>& traffics) {
  using namespace constants;
  Real l1{};
  Real l2{};
  for (const BasicTraffic<Number>& traffic : traffics) {
    l1 += real(traffic.l1_read) + real(traffic.l1_write);
    l2 += real(traffic.l2_read) + real(traffic.l2_write);
  }
  return kMacEnergyNj * (real(macs) + kL1AccessMacs * l1 + kL2AccessMacs * l2);
}

// `energy`, in MACs, and that of the L2 accesses the CSV counts.
template <typename Number, typename Real = decltype(real(Number{}))>
GYM_INLINE Real add_l2_energy(Real energy, const BasicTraffics<Number>& traffics) {
  using constants::kL2AccessMacs;
  for (const TensorId id : {kInput, kFilter}) {
    energy += real(traffics[id].l2_read) * kL2AccessMacs;
    energy += real(traffics[id].l2_write) * kL2AccessMacs;
  }
  return energy + real(traffics[kOutput].l2_write) * kL2AccessMacs;
}

}  // namespace gym::maestro
