// How long one unit's box of work takes (E3.4, E4.4-E4.5).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../hardware.hpp"
#include "box.hpp"

namespace gym::exact {

class Timer {
 public:
  Timer(const LoopNest& nest, const Hardware& hardware, const Partition& partition);

  // Cycles of the whole layer on chip; needs the partition of the same tiling.
  std::int64_t run(const Tiling& tiling, Profile& profile);

 private:
  // One level at work on one box.
  struct Frame {
    explicit Frame(const LoopNest& nest) : box(nest) {}

    Box box;
    ByState compute;  // cycles of the slowest unit in a step
  };
  struct Memo {
    BoxKey key;
    std::int64_t cycles;
  };
  template <bool top>
  class Walk;

  template <bool top>
  std::int64_t evaluate(int j, const BoxKey& key, Profile* profile);
  std::int64_t noc(std::int64_t words) const;
  bool innermost(int j) const { return j + 1 == tiling_->levels; }
  bool pes_never_wait() const;
  void time_units(int j);
  void time_pes(const TiledLevel& level, Frame& frame) const;
  void time_clusters_that_never_wait(int j);
  std::int64_t slowest_cluster(int j, State state);
  std::int64_t cluster_time(int j, const BoxKey& key);

  const LoopNest& nest_;
  const Hardware& hardware_;
  const Partition& partition_;
  std::vector<LoopId> loops_;
  const Tiling* tiling_ = nullptr;
  bool pes_never_wait_ = false;
  std::array<Frame, kMaxLevels> frame_;
  std::array<std::vector<Memo>, kMaxLevels> memo_;
};

}  // namespace gym::exact
