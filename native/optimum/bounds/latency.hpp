// The cycles that mappings of a box take at least (docs/optimum.md, 6).
#pragma once

#include <vector>

#include "cluster.hpp"
#include "traffic.hpp"

namespace gym::optimum {

class Latency {
 public:
  Latency(const Problem& problem, const std::vector<LoopCounts>& counts);

  // Steps counted alike: by what they compute, or by the words that the array moves.
  double computing() const { return exposed() + cluster_.cycles().all(); }
  double moving(const Words& words, double offchip_words) const;
  // The same of the first cluster, if loop `x` moves innermost in it.
  double moving_below(int x) const;

  // Steps counted by their place in sweeps of loop `x`, which moves innermost, ...
  double sweeping(const LevelTraffic& outer, int x) const;
  double sweeping_below(int x) const;
  // ... or by whether a tile of the filter comes in beside them, or one of the output leaves.
  double beside_tiles() const;

 private:
  // Cycles of a level's first fill, its last drain, and what it computes in its first and its last
  // step; and its transfers each way.
  struct Ends {
    double fill, drain;
    double begun, ended;
    Transfers transfers;
  };

  double exposed() const { return offchip_ + outer_.fill + outer_.drain; }
  double moved(const Ends& ends, const Words& words) const;
  template <typename Computed>
  double swept(const Ends& ends, const LevelTraffic& traffic, int x,
               const Computed& computed) const;

  const Problem& problem_;
  FirstCluster cluster_;
  LevelTraffic own_;    // of the first cluster
  double offchip_;      // cycles of the first fill and the last drain
  Ends outer_, inner_;  // of the levels; summed over the first cluster's pieces
};

}  // namespace gym::optimum
