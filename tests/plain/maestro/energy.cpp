#include "energy.hpp"

#include "../constants.hpp"

namespace gym::maestro {

namespace {

using namespace constants;

double add_accesses(double energy, std::int64_t accesses, double cost) {
  return energy + static_cast<double>(accesses) * cost;
}

double add_l1(double energy, const StoredL1Counts& counts) {
  for (const std::int64_t count : counts) energy = add_accesses(energy, count, kL1AccessMacs);
  return energy;
}

double add_l2(double energy, const LevelResult& top) {
  for (const TensorId id : {kInput, kFilter}) {
    energy = add_accesses(energy, top.traffic[id].l2_read, kL2AccessMacs);
    energy = add_accesses(energy, top.traffic[id].l2_write, kL2AccessMacs);
  }
  return add_accesses(energy, top.traffic[kOutput].l2_write, kL2AccessMacs);
}

}  // namespace

double csv_energy_nj(const LayerResult& result, StoredL1Counts& stored) {
  double energy = result.nested ? add_l1(0.0, stored) : 0.0;
  energy = add_l2(energy, result.top);
  std::size_t next = 0;
  for (const Traffic& traffic : result.top.traffic) {
    stored[next++] = traffic.l1_read;
    stored[next++] = traffic.l1_write;
  }
  if (!result.nested) energy = add_l1(energy, stored);
  return energy * kMacEnergyNj;
}

}  // namespace gym::maestro
