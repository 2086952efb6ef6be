// The cycles of the first cluster and its first PE, at least (docs/optimum.md, 6).
#pragma once

#include <algorithm>
#include <vector>

#include "../problem.hpp"

namespace gym::optimum {

// Rounds up what fits an Index; quicker than the library's.
inline double round_up(double count) {
  const auto whole = static_cast<double>(static_cast<Index>(count));
  return whole < count ? whole + 1 : whole;
}

// Cycles in which so many words pass the network.
inline double noc_cycles(const Hardware& hardware, double words) {
  return static_cast<double>(hardware.noc_latency - 1) + round_up(words / hardware.noc_bw);
}

// In so many transfers at most. Without latency each rounds up and takes a cycle less.
inline double noc_cycles(const Hardware& hardware, double words, double most) {
  const double cycles = round_up(words / hardware.noc_bw);
  return hardware.noc_latency == 0 ? std::max(0.0, cycles - most) : cycles;
}

// Transfers one way: how many there are at most, and of them those beside which nothing is
// computed.
struct Transfers {
  double most, alone;
};

// In such transfers, or in computing meanwhile. Without latency, one and a step beside it take half
// the cycles or more.
inline double noc_cycles(const Hardware& hardware, double words, const Transfers& transfers) {
  const double cycles = noc_cycles(hardware, words, transfers.most);
  if (hardware.noc_latency != 0) return cycles;
  return std::max(cycles, round_up((words / hardware.noc_bw - transfers.alone) / 2));
}

class FirstCluster {
 public:
  // Of all its pieces: to fill it, to compute, to drain it, and to compute the first or the last
  // step of each.
  struct Cycles {
    double filled, computed, drained;
    double begun, ended;

    double all() const { return filled + computed + drained; }
  };

  FirstCluster(const Problem& problem, const std::vector<LoopCounts>& counts);

  const Cycles& cycles() const { return cycles_; }
  // Of its first piece, its last one, or some of those along a loop.
  double of_one(Runs LoopCounts::* run) const;
  double of_some(int x, Between some) const;
  // Of its first PE in some of the steps along a loop, in all pieces.
  double of_steps(int x, Between some) const;

  // Of all pieces, if each tile of the filter comes in, or each of the output leaves, beside a step
  // that is counted by that, and all other steps by what they compute.
  double beside_tiles(const Transfers& transfers) const;

 private:
  // Sums over pieces; a loop that a tensor does not have repeats it.
  struct Sums {
    double pieces = 1, steps = 1;
    double macs = 1, begun = 1, ended = 1;  // of the first PE
    double input = 1, filter = 1, output = 1;

    void operator*=(const Sums& factor);
    void operator/=(const Sums& factor);
  };

  // Words of a tensor over all pieces, and the tiles of which they are, at most.
  struct Tiles {
    double words, count;
  };

  Sums whole() const;
  template <typename IsAxis>
  Tiles tiles(double words, const IsAxis& is_axis) const;
  static Sums factor(const Loop& loop, const Runs& runs);
  double computed(double macs, double steps) const;
  double moved(double words, const Sums& sums, double most_transfers) const;
  double all_of(const Sums& sums, double most_transfers) const;

  const Problem& problem_;
  const std::vector<LoopCounts>& counts_;
  double most_steps_ = 1;  // of the outer level
  Sums sums_;
  Cycles cycles_;
};

}  // namespace gym::optimum
