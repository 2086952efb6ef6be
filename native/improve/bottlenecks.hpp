// What limits a mapping of two levels, in numbers that mean the same on all layers and
// accelerators.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../core/hardware.hpp"
#include "../core/layer.hpp"
#include "../core/map_space.hpp"
#include "../core/metrics.hpp"

namespace gym::improve {

// Each feature is between -kMostFeature and kMostFeature; 0 where there is no figure.
inline constexpr std::size_t kFeatures = 37;
inline constexpr double kMostFeature = 3;

class Bottlenecks {
 public:
  // Refers to the space.
  Bottlenecks(const Layer& layer, const LoopNest& nest, const Hardware& hardware,
              const MapSpace& space);

  // Writes the features of a point by its own row of metrics.
  void show(const std::int32_t* point, const Metrics& row, float* to) const;

 private:
  class Writer;

  void show_loops(const std::int32_t* point, Writer& writer) const;
  void show_buffers(const Metrics& row, Writer& writer) const;
  void show_time(const Metrics& row, Writer& writer) const;
  void show_energy(const Metrics& row, Writer& writer) const;

  const MapSpace& space_;
  std::array<int, 4> place_;  // of K, C and the output axes among the dimensions; -1: none
  LoopNest nest_;
  double macs_, words_;
  double pes_, l1_bytes_, l2_bytes_, offchip_bw_;
  Energies energies_;
};

}  // namespace gym::improve
