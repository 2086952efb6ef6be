// The guard: physical checks that every executable mapping passes, whatever the model.
#pragma once

#include <array>
#include <vector>

#include "../core/hardware.hpp"
#include "../core/layer.hpp"
#include "../core/map_space.hpp"
#include "../core/metrics.hpp"
#include "../core/status.hpp"

namespace gym {

class Guard {
 public:
  Guard(const Layer& layer, const LoopNest& nest, const Hardware& hardware);

  // The first check that fails: MACs, peak throughput, the busiest PE's load, compulsory traffic.
  // Asks for the mapping only if one PE could not do all the work in the time: reading it takes
  // longer than everything else here.
  template <typename GetMapping>
  Status check(const Metrics& metrics, const GetMapping& mapping) {
    if (metrics.macs != macs_) return Status::mac_mismatch;
    const double lane_cycles = metrics.latency_cycles * hardware_.simd_lanes;
    if (macs_ > lane_cycles * hardware_.num_pes) return Status::above_peak;
    if (lane_cycles < macs_estimate_) {
      read_levels(mapping());
      if (lane_cycles < busiest_pe_macs()) return Status::below_pe_load;
    }
    return has_compulsory_traffic(metrics) ? Status::ok : Status::below_compulsory;
  }

 private:
  struct Loop {
    std::int64_t tile = 0;  // 0: the level does not cut the dimension
    bool spatial = false;
  };
  struct Level {
    std::int64_t units;
    std::array<Loop, kLoops> loop;
  };

  bool has_compulsory_traffic(const Metrics& metrics) const;
  void read_levels(const Mapping& mapping);
  std::int64_t tile_of(const Directive& directive) const;
  bool spread(LoopId loop) const;
  double indices_of_first_pe(LoopId loop, std::size_t level, std::int64_t extent) const;
  double busiest_pe_macs() const;

  Operator op_;
  std::array<LoopId, kMaxDims> loop_;  // by dimension
  LoopNest nest_;
  Hardware hardware_;
  double macs_;
  double macs_estimate_;  // at least what one PE can have, also where the other has wrapped around
  std::array<double, kTensors> words_;
  std::vector<Level> levels_;
};

}  // namespace gym
