#include "energy.hpp"

namespace gym::maestro {

namespace {

double add_l1(double energy, const StoredL1Counts& counts) {
  for (const std::int64_t count : counts) energy += real(count) * constants::kL1AccessMacs;
  return energy;
}

}  // namespace

double csv_energy_nj(const LayerResult& result, StoredL1Counts& stored) {
  double energy = result.nested ? add_l1(0.0, stored) : 0.0;
  energy = add_l2_energy<Count>(energy, result.top.traffic);
  std::size_t next = 0;
  for (const Traffic& traffic : result.top.traffic) {
    stored[next++] = traffic.l1_read;
    stored[next++] = traffic.l1_write;
  }
  if (!result.nested) energy = add_l1(energy, stored);
  return energy * constants::kMacEnergyNj;
}

}  // namespace gym::maestro
