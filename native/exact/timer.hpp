// How long one unit's box of work takes (E3.4, E4.4-E4.5).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "../core/hardware.hpp"
#include "../core/metrics.hpp"
#include "box.hpp"
#include "report.hpp"

namespace gym::exact {

// Of one level: words that come or go in one step take as long as the slower of them.
struct Network {
  std::int64_t bw, latency;

  std::int64_t cycles(std::int64_t words) const {
    if (words == 0) return 0;
    return words <= bw ? latency : latency + (words - 1) / bw;
  }
};

// Whether networks take all words of a tile in a single go, however large it is.
bool never_queues(const LoopNest& nest, const Hardware& hardware);

// What is computed of one box, by state.
struct BoxTables {
  ByState compute;  // cycles of the slowest unit in a step
  ByState fetched;  // words that come in as the innermost loop moves there
  ByState times;    // how often the loops outside a mover stand like that
};

class Timer {
 public:
  Timer(const LoopNest& nest, const Hardware& hardware, const Partition& partition);

  // Cycles of the whole layer on chip; needs the partition of the same tiling. Of the profile,
  // costs need no more than the words at both ends.
  std::int64_t run(const Tiling& tiling, Detail detail, Profile& profile);

  // Whether the networks are never a bottleneck for PEs.
  bool always_served() const { return always_served_; }
  // Whether that might hold for a tiling of two levels.
  bool may_never_wait(const Tiling& tiling) const;

 private:
  // One level at work on one box.
  struct Frame {
    explicit Frame(const LoopNest& nest) : box(nest) {}

    Box box;
    BoxTables tables;
  };
  struct Memo {
    BoxKey key;
    std::int64_t cycles;
  };
  template <bool top>
  std::int64_t evaluate(int j, const BoxKey& key, Profile& profile);
  bool innermost(int j) const { return j + 1 == tiling_->levels; }
  bool pes_never_wait() const;
  std::int64_t compute_all(Profile& profile) const;
  std::int64_t cost(Profile& profile);
  void time_units(int j);
  void time_pes(const TiledLevel& level, Frame& frame) const;
  void time_clusters_that_never_wait(int j);
  std::array<std::int64_t, 2> busy_cycles(int j, LoopId id, const Variant& loop) const;
  std::int64_t slowest_cluster(int j, State state);
  std::int64_t cluster_time(int j, const BoxKey& key);
  std::optional<std::int64_t> undisturbed_time(const BoxKey& key) const;

  const LoopNest& nest_;
  const Network network_;
  const std::int64_t simd_lanes_;
  const Partition& partition_;
  std::vector<LoopId> loops_;
  const bool never_queues_;
  const bool always_served_;
  const Tiling* tiling_ = nullptr;
  bool pes_never_wait_ = false;
  std::array<Frame, kMaxLevels> frame_;
  std::array<std::vector<Memo>, kMaxLevels> memo_;
};

}  // namespace gym::exact
