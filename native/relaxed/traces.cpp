// Loops of a mapping that costs about what the program found.
#include <algorithm>

#include "../core/integers.hpp"
#include "program.hpp"

namespace gym::relaxed {

void Program::lower_traced(Costs& costs, std::int64_t at, const Costs& others, std::int64_t from,
                           std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) {
    const auto to = static_cast<std::size_t>(at + k), other = static_cast<std::size_t>(from + k);
    if (others.cost[other] >= costs.cost[to]) continue;
    costs.cost[to] = others.cost[other];
    costs.from[to] = others.from[other];
  }
}

std::vector<hierarchy::MappedLoop> Program::nest() const {
  const int elements = problem_.elements();
  std::vector<std::int64_t> left(static_cast<std::size_t>(elements), last_.state);
  std::vector<std::uint8_t> resting(left.size(), kTensors);
  Source at = last_;
  for (auto passed = passed_.rbegin(); passed != passed_.rend(); ++passed) {
    at = passed->from.at(at.open)[static_cast<std::size_t>(at.state)];
    left[passed->element] = at.state;
    if (passed->stage == Stage::loops) resting[passed->element] = at.resting;
  }
  const std::vector<Counts> tile = tiles(left);
  Counts box = problem_.shape.extent;
  std::vector<hierarchy::MappedLoop> found;
  for (int e = 0; e < elements; ++e) {
    const LoopSet outer = resting[e] == kTensors ? kAllLoops & ~kTaps : kMoving[resting[e]];
    for (const LoopSet dims : {outer, kAllLoops & ~outer & ~kTaps, kAllLoops & ~outer & kTaps}) {
      for (int d = 0; d < kLoops; ++d) {
        if (!has(dims, static_cast<LoopId>(d)) || tile[e][d] >= box[d]) continue;
        box[d] = tile[e][d];
        found.push_back({e, d, static_cast<std::int32_t>(box[d])});
      }
    }
  }
  return found;
}

// What the loops of each element leave, from the inside out: of a class the least multiple of what
// lies inside, where there is one; above a fan-out that of its least units.
std::vector<Counts> Program::tiles(const std::vector<std::int64_t>& left) const {
  std::vector<Counts> found(left.size());
  for (int e = static_cast<int>(left.size()) - 1; e >= 0; --e) {
    const bool deals = e + 1 < problem_.elements() && !problem_.is_memory(e + 1);
    for (int d = 0; d < kLoops; ++d) {
      const Class& of = grid_.classes(d)[static_cast<std::size_t>(grid_.at(left[e], d))];
      const std::int64_t inside = e + 1 < problem_.elements() ? found[e + 1][d] : of.least;
      std::int64_t times = ceil_div(of.least, inside);
      if (deals) times = std::max(times, std::min(of.most / inside, box_->units[e + 1].least[d]));
      const std::int64_t tile = times * inside;
      const bool whole = of.most == problem_.shape.extent[d];
      found[e][d] = whole                                 ? of.most
                    : tile >= of.least && tile <= of.most ? tile
                                                          : std::max(of.least, inside);
    }
  }
  return found;
}

}  // namespace gym::relaxed
