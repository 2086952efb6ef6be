#include "cluster.hpp"

namespace gym::optimum {

void FirstCluster::Sums::operator*=(const Sums& factor) {
  pieces *= factor.pieces;
  steps *= factor.steps;
  macs *= factor.macs;
  begun *= factor.begun;
  ended *= factor.ended;
  input *= factor.input;
  filter *= factor.filter;
  output *= factor.output;
}

// Exact, as all are whole numbers.
void FirstCluster::Sums::operator/=(const Sums& factor) {
  pieces /= factor.pieces;
  steps /= factor.steps;
  macs /= factor.macs;
  begun /= factor.begun;
  ended /= factor.ended;
  input /= factor.input;
  filter /= factor.filter;
  output /= factor.output;
}

FirstCluster::FirstCluster(const Problem& problem, const std::vector<LoopCounts>& counts)
    : problem_(problem), counts_(counts), sums_(whole()) {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    sums_ *= factor(problem_.loops[i], counts_[i].runs);
    most_steps_ *= counts_[i].most_steps;
  }
  cycles_ = {moved(sums_.input + sums_.filter, sums_, most_steps_),
             computed(sums_.macs, sums_.steps), moved(sums_.output, sums_, most_steps_),
             computed(sums_.begun, sums_.pieces), computed(sums_.ended, sums_.pieces)};
}

double FirstCluster::of_one(Runs LoopCounts::* run) const {
  Sums sums = whole();
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    sums *= factor(problem_.loops[i], counts_[i].*run);
  }
  return all_of(sums, 1);
}

double FirstCluster::of_some(int x, Between some) const {
  Sums sums = sums_;
  sums /= factor(problem_.loops[x], counts_[x].runs);
  sums *= factor(problem_.loops[x], counts_[x].some[some]);
  return all_of(sums, most_steps_);
}

double FirstCluster::of_steps(int x, Between some) const {
  const Runs& runs = counts_[x].runs;
  return computed(sums_.macs / runs.all.indices * runs.some[some].indices,
                  sums_.steps / runs.all.steps * runs.some[some].steps);
}

double FirstCluster::beside_tiles(const Transfers& transfers) const {
  const Hardware& hardware = problem_.hardware;
  double macs = problem_.whole.macs;
  for (const LoopCounts& counts : counts_) macs *= counts.largest;
  const double step = round_up(macs / hardware.simd_lanes);
  const Tiles filter = tiles(problem_.whole.filter, [](const Loop& loop) { return loop.filter(); });
  const Tiles output = tiles(problem_.whole.output, [](const Loop& loop) { return loop.output(); });
  const double in = noc_cycles(hardware, sums_.input + filter.words, transfers) + cycles_.drained -
                    (filter.count - sums_.pieces) * step;
  const double out = cycles_.filled + noc_cycles(hardware, output.words, transfers) -
                     (output.count - sums_.pieces) * step;
  return cycles_.computed + std::max(in, out);
}

template <typename IsAxis>
FirstCluster::Tiles FirstCluster::tiles(double words, const IsAxis& is_axis) const {
  Tiles tiles{words, 1};
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const LoopCounts& counts = counts_[i];
    const bool axis = is_axis(problem_.loops[i]);
    tiles.words *= axis ? counts.own.extent : counts.own.pieces;
    tiles.count *= axis ? counts.most_below : counts.most_steps;
  }
  return tiles;
}

// What no mapping cuts.
FirstCluster::Sums FirstCluster::whole() const {
  Sums sums;
  sums.macs = sums.begun = sums.ended = problem_.whole.macs;
  sums.input = problem_.whole.input;
  sums.filter = problem_.whole.filter;
  sums.output = problem_.whole.output;
  return sums;
}

FirstCluster::Sums FirstCluster::factor(const Loop& loop, const Runs& runs) {
  const double pieces = runs.pieces;
  double input = loop.input() || loop.slides() ? runs.first : pieces;
  if (loop.slides() && loop.window == kNone) {
    const auto taps = static_cast<double>(loop.taps);
    input = runs.first * loop.fresh(taps) + pieces * (taps - loop.fresh(taps));
  }
  return {pieces,
          runs.all.steps,
          runs.all.indices,
          runs.begun,
          runs.ended,
          input,
          loop.filter() ? runs.first : pieces,
          loop.output() ? runs.last : pieces};
}

// A step takes a cycle or more.
double FirstCluster::computed(double macs, double steps) const {
  return std::max(round_up(macs / problem_.hardware.simd_lanes), steps);
}

// In one transfer for each piece, which takes a cycle and the rest of the latency or more.
double FirstCluster::moved(double words, const Sums& sums, double most_transfers) const {
  const Hardware& hardware = problem_.hardware;
  const double cycles = noc_cycles(hardware, words, most_transfers);
  if (hardware.noc_latency == 0) return cycles;
  return static_cast<double>(hardware.noc_latency - 1) * sums.pieces +
         std::max(sums.pieces, cycles);
}

double FirstCluster::all_of(const Sums& sums, double most_transfers) const {
  return moved(sums.input + sums.filter, sums, most_transfers) + computed(sums.macs, sums.steps) +
         moved(sums.output, sums, most_transfers);
}

}  // namespace gym::optimum
