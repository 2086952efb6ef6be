// How the units of a level share its work: the spatial factors of a step's volumes (S6.2-S6.6).
#pragma once

#include "cases.hpp"

namespace gym::maestro {

// The state of a spatial directive's dimension, as far as volumes depend on it.
struct Standing {
  bool partial = false;  // at Init and at an edge
  bool ended = false;    // at Edge
  bool ragged = false;

  bool edge() const { return partial || ended; }
};

using Standings = std::array<Standing, kMaxSpatial>;

// What some units of a level ask of the level below (S7.1).
struct Job {
  std::uint32_t remainders;  // spatial dimensions at an edge, by Level::remainder_bit
  std::int32_t times;
};

// Every volume is a product of temporal factors, the same for all units, and spatial ones. The
// latter are summed over the units here, once for all cases in which the spatial loops stand alike.
struct Spread {
  // Which spatial loops bring a fresh part only (bit k: the k-th), or that nothing has moved yet.
  static constexpr int kResident = 1 << kMaxSpatial;

  std::array<std::array<std::int64_t, kResident + 1>, 2> fetched;  // of input and filter
  std::int64_t outputs;
  std::int64_t macs;
  std::int64_t unit_macs;  // not summed: of the busiest unit
  std::int32_t busy_units;
  std::array<Job, 2> jobs;
  int job_count;
};

Spread spread_work(const LayerTable& table, const Level& level, const Standings& standings);

}  // namespace gym::maestro
