#include "latency.hpp"

#include <algorithm>
#include <cmath>

namespace gym::optimum {

Latency::Latency(const Problem& problem, const std::vector<LoopCounts>& counts)
    : problem_(problem), cluster_(problem, counts), own_(problem, counts, &LoopCounts::own) {
  const Hardware& hardware = problem.hardware;
  const auto bandwidth = static_cast<double>(hardware.offchip_bw);
  const PerTensor first = problem.tile_words([&](std::size_t i) { return counts[i].first; });
  const PerTensor last = problem.tile_words([&](std::size_t i) { return counts[i].last; });
  const double in = first[kInput] + first[kFilter];
  offchip_ = round_up(in / bandwidth) + round_up(last[kOutput] / bandwidth);
  Transfers outer{1, 1}, inner{1, 1};
  for (const LoopCounts& each : counts) {
    outer.most *= each.most_steps;
    inner.most *= each.most_below;
  }
  inner.alone = outer.most;
  outer_ = {noc_cycles(hardware, in), noc_cycles(hardware, last[kOutput]),
            cluster_.of_one(&LoopCounts::first_run), cluster_.of_one(&LoopCounts::last_run), outer};
  const FirstCluster::Cycles& cycles = cluster_.cycles();
  inner_ = {cycles.filled, cycles.drained, cycles.begun, cycles.ended, inner};
}

double Latency::moving(const Words& words, double offchip_words) const {
  // Infinite if nothing fits.
  const double offchip = std::ceil(offchip_words / problem_.hardware.offchip_bw);
  return std::max(offchip, offchip_ + moved(outer_, words));
}

double Latency::moving_below(int x) const { return exposed() + moved(inner_, own_.least(x)); }

double Latency::sweeping(const LevelTraffic& outer, int x) const {
  if (x == kNone) return 0;
  const auto computed = [&](Between some) { return cluster_.of_some(x, some); };
  return offchip_ + swept(outer_, outer, x, computed);
}

double Latency::sweeping_below(int x) const {
  if (x == kNone) return 0;
  const auto computed = [&](Between some) { return cluster_.of_steps(x, some); };
  return exposed() + swept(inner_, own_, x, computed);
}

double Latency::beside_tiles() const { return exposed() + cluster_.beside_tiles(inner_.transfers); }

// Cycles in which the words of a level come in and what is left is computed and goes out, or in
// which the first ones come in and are computed and all words go out.
double Latency::moved(const Ends& ends, const Words& words) const {
  const double in = noc_cycles(problem_.hardware, words.fetched(), ends.transfers);
  const double out = noc_cycles(problem_.hardware, words.leaving, ends.transfers);
  return std::max(in + ends.ended + ends.drain, ends.fill + ends.begun + out);
}

// Cycles of a level, counting of a step what it computes, or the words that come in or go out
// meanwhile: by the step's place along the loop that moves innermost.
template <typename Computed>
double Latency::swept(const Ends& ends, const LevelTraffic& traffic, int x,
                      const Computed& computed) const {
  const auto cycles = [&](double moved) {
    return noc_cycles(problem_.hardware, moved, ends.transfers);
  };
  const EndWords sweeps = traffic.at_ends(x);
  const double last =
      std::max(cycles(sweeps.fetched) + ends.ended, ends.fill + cycles(sweeps.before));
  const double first = ends.begun + cycles(sweeps.leaving);
  return std::max({last + computed(kButLast) + ends.drain, ends.fill + computed(kButFirst) + first,
                   traffic.all_moves(x) ? last + computed(kButBoth) + first : 0});
}

}  // namespace gym::optimum
