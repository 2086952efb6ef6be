#include "trade.hpp"

#include <algorithm>
#include <cmath>

namespace gym::optimum {

namespace {

// Roots and quotients are rounded, other than the counts that they stand for.
constexpr double kRounded = 1 - 1e-9;

}  // namespace

Trade::Trade(const Problem& problem, const Box& box, std::size_t level, const PerTensor& held)
    : problem_(problem) {
  const Energies& energies = problem.hardware.energies;
  const double access = energies.mac_nj * (level == 0 ? energies.l2_macs : energies.l1_macs);
  each_ = {access, access, 2 * access + energies.mac_nj * energies.noc_macs};
  words_ = {problem.whole.input, problem.whole.filter, problem.whole.output};
  double taps = 1, groups = 1;
  for (std::size_t i = 0; i < problem.loops.size(); ++i) {
    const Loop& loop = problem.loops[i];
    const auto extent = static_cast<double>(loop.extent);
    if (loop.slides()) {
      words_[kInput] *=
          extent * (loop.window == kNone ? loop.fresh(static_cast<double>(loop.taps)) : 1);
    } else if (loop.input()) {
      words_[kInput] *= extent;
    }
    if (loop.filter()) words_[kFilter] *= extent;
    if (loop.output()) words_[kOutput] *= extent;
    if (loop.is_window()) taps *= extent;
    if (loop.id == kLoopG) {
      const std::int32_t least =
          level == 0 ? loop.outer[box.tiles[i].outer.least] : loop.inner[box.tiles[i].inner.least];
      groups = extent / static_cast<double>(least);
    }
  }
  for (int t = 0; t < kTensors; ++t) {
    steps_[t] = words_[t] / (t == kFilter ? taps : 1) / groups / held[t];
  }
}

double Trade::more_nj(int x, const Words& least, double share) const {
  if (x == kNone) return 0;
  const Loop& loop = problem_.loops[x];
  if (loop.is_window() || (loop.slides() && problem_.cuts_windows)) return 0;
  const PerTensor at_least{least.input, least.filter, least.leaving};
  const std::array<bool, kTensors> often{loop.input() || loop.slides(), loop.filter(),
                                         loop.output()};
  double most = 0;
  for (int held = 0; held < kTensors; ++held) {
    const int one = (held + 1) % kTensors, other = (held + 2) % kTensors;
    const bool pays = each_[one] > 0 && each_[other] > 0;
    if (!often[one] || !often[other] || !pays) continue;
    const double product = kRounded * words_[one] * words_[other] * steps_[held] * share * share;
    const double u = at_least[one], v = at_least[other];
    if (product <= u * v) continue;
    const double cheapest = std::sqrt(product * each_[other] / each_[one]);
    const double moved = std::clamp(cheapest, u, product / v);
    most = std::max(most, each_[one] * (moved - u) + each_[other] * (product / moved - v));
  }
  return kRounded * most;
}

}  // namespace gym::optimum
