#include "bound.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "../../core/area_power.hpp"

namespace gym::optimum {

namespace {

// Units of both levels for a range of cluster sizes, given in PEs.
std::array<Units, 2> units_of(const Problem& problem, Choices cluster) {
  const Index least = problem.clusters[cluster.least], most = problem.clusters[cluster.most];
  const Index pes = problem.hardware.num_pes;
  return {Units{pes / most, pes / least}, Units{least, most}};
}

}  // namespace

Bounds::Bounds(const Problem& problem, Objective objective, Lemmas lemmas)
    : problem_(problem), objective_(objective), lemmas_(lemmas), counts_(problem.loops.size()) {}

void Bounds::enter(const Box& box, double enough) {
  enough_ = enough;
  box_ = box;
  units_ = units_of(problem_, box.cluster);
  for (std::size_t i = 0; i < counts_.size(); ++i) count(i);
}

void Bounds::count(std::size_t loop) {
  const auto units = [&](int level) {
    return box_.parallel[level] == static_cast<int>(loop) ? units_[level] : Units{1, 1};
  };
  counts_[loop] = least_counts(problem_.loops[loop], box_.tiles[loop], units(0), units(1));
}

double Bounds::least_with(std::size_t loop, const Tiles& tiles) {
  const LoopCounts counts = counts_[loop];
  const Tiles before = std::exchange(box_.tiles[loop], tiles);
  count(loop);
  const double bound = least();
  box_.tiles[loop] = before;
  counts_[loop] = counts;
  return bound;
}

double Bounds::least_with(Choices cluster) {
  const Box box = box_;
  const std::vector<LoopCounts> counts = counts_;
  box_.cluster = cluster;
  units_ = units_of(problem_, cluster);
  for (const int loop : box_.parallel) {
    if (loop != kNone) count(static_cast<std::size_t>(loop));
  }
  const double bound = least();
  box_ = box;
  units_ = units_of(problem_, box.cluster);
  counts_ = counts;
  return bound;
}

double Bounds::least_with(std::size_t level, int innermost) {
  const int before = std::exchange(box_.innermost[level], innermost);
  const double bound = least();
  box_.innermost[level] = before;
  return bound;
}

SomeLoops Bounds::innermost(std::size_t level) const {
  SomeLoops loops;
  const auto add = [&](int loop) {
    const int decided = box_.innermost[level];
    if (decided == kAny || decided == loop) loops.push_back(loop);
  };
  bool rests = true;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const LoopCounts& counts = counts_[i];
    if (level == 0 ? counts.outer.moves : counts.inner.moves) add(static_cast<int>(i));
    rests &= level == 0 ? counts.outer.rests : counts.inner.rests;
  }
  if (rests) add(kNone);
  return loops;
}

double Bounds::least() const {
  const Needs needs = this->needs(box_);
  const LevelTraffic outer(problem_, counts_, &LoopCounts::outer);
  Sides sides{fixed(needs), parts(0), parts(1)};
  for (Part& part : sides.outer) count_array(outer, sides.fixed, part);
  std::optional<Latency> latency;
  if (objective_.latency) {
    latency.emplace(problem_, counts_);
    add_cycles(*latency, sides);
  }
  std::optional<LevelTraffic> inner;
  if (objective_.energy) {
    inner.emplace(problem_, counts_, &LoopCounts::inner);
    count_clusters(sides.outer);
    count_pes(*inner, sides.inner);
  }
  double bound = least_of(sides);
  if (inner && lemmas_ == Lemmas::kAll && bound < enough_) {
    trade(needs, sides);
    bound = least_of(sides);
  }
  if (latency && bound < enough_) {
    add_sweeps(*latency, outer, sides);
    bound = least_of(sides);
  }
  return bound;
}

// Of all pairs of innermost loops.
double Bounds::least_of(const Sides& sides) const {
  double least = kNever;
  for (const Part& outer : sides.outer) {
    for (const Part& inner : sides.inner) {
      least = std::min(least, cost(sides.fixed, outer, inner));
    }
  }
  return least;
}

Bounds::Parts Bounds::parts(std::size_t level) const {
  Parts parts;
  for (const int x : innermost(level)) parts.push_back({x});
  return parts;
}

// As the model computes them from its counts: of counts that are no larger, the result is no
// larger, rounded or not.
double Bounds::cost(const Fixed& fixed, const Part& outer, const Part& inner) const {
  double cost = 1;
  const auto multiply = [&cost](std::ptrdiff_t times, double figure) {
    for (; times > 0; --times) cost *= figure;
  };
  multiply(objective_.latency, std::max({fixed.cycles, outer.cycles, inner.cycles}));
  if (objective_.energy) {
    const double macs = static_cast<double>(problem_.nest.macs());
    const double apart = problem_.hardware.energies.total_nj(
        macs, 4 * macs + outer.l1_accesses + inner.l1_accesses, outer.l2_accesses,
        outer.noc_words + inner.noc_words, outer.offchip_words);
    multiply(objective_.energy, apart + outer.traded_nj + inner.traded_nj);
  }
  multiply(objective_.area, fixed.area);
  return cost;
}

Bounds::Needs Bounds::needs(const Box& box) const {
  const std::array<Units, 2> units = units_of(problem_, box.cluster);
  const auto cluster = [&](std::size_t i) {
    return static_cast<double>(problem_.loops[i].outer[box.tiles[i].outer.least]);
  };
  const auto pe = [&](std::size_t i) {
    const auto size = static_cast<double>(problem_.loops[i].inner[box.tiles[i].inner.least]);
    return std::min(cluster(i), size);
  };
  const auto array = [&](std::size_t i) {
    const bool dealt = box.parallel[0] == static_cast<int>(i);
    const double size = cluster(i) * static_cast<double>(dealt ? units[0].least : 1);
    return std::min(size, static_cast<double>(problem_.loops[i].extent));
  };
  const auto two = [](const PerTensor& words) {
    return 2 * (words[kInput] + words[kFilter] + words[kOutput]);
  };
  const PerTensor of_cluster = problem_.tile_words(cluster), of_pe = problem_.tile_words(pe);
  const double share = round_up(two(of_cluster) / static_cast<double>(units[1].most));
  Needs needs{two(of_pe) + share, problem_.tile_words(array), of_cluster, of_pe, share};
  for (int t = 0; t < kTensors; ++t) {
    needs.l2[t] = std::min(2 * needs.l2[t], problem_.words[t]);
  }
  return needs;
}

bool Bounds::fits(const Box& box) const {
  const Hardware& hardware = problem_.hardware;
  if (hardware.l1_bytes == kUnlimitedBytes && hardware.l2_bytes == kUnlimitedBytes) return true;
  const Needs least = needs(box);
  return least.l1 <= static_cast<double>(hardware.l1_words()) &&
         least.sum() <= static_cast<double>(hardware.l2_words());
}

Bounds::Fixed Bounds::fixed(const Needs& needs) const {
  const Hardware& hardware = problem_.hardware;
  const auto word_bytes = static_cast<double>(hardware.word_bytes);
  Fixed fixed{buffered_area_um2(hardware, word_bytes * needs.l1, word_bytes * needs.sum()), 0, {}};
  for (std::size_t set = 0; set < fixed.keeps.size(); ++set) {
    double used = 0;
    for (int t = 0; t < kTensors; ++t) {
      used += (set >> t & 1) != 0 ? problem_.words[t] : needs.l2[t];
    }
    fixed.keeps[set] = used <= static_cast<double>(hardware.l2_words());
  }
  return fixed;
}

// Off-chip words for so many words between L2 and the array.
double Bounds::offchip_words(const Fixed& fixed, const PerTensor& streams) const {
  double least = kNever;
  for (std::size_t set = 0; set < fixed.keeps.size(); ++set) {
    if (!fixed.keeps[set]) continue;
    double words = 0;
    for (int t = 0; t < kTensors; ++t) {
      // A word of the output that leaves again finds its old value off-chip.
      const double old = t == kOutput ? streams[t] - problem_.words[t] : 0;
      words += (set >> t & 1) != 0 ? problem_.words[t] : streams[t] + old;
    }
    least = std::min(least, words);
  }
  return least;
}

// Words between L2 and the array, and off-chip. They are at least all words of each tensor.
void Bounds::count_array(const LevelTraffic& traffic, const Fixed& fixed, Part& part) const {
  const Words words = traffic.least(part.innermost);
  part.moved = {std::max(words.input, problem_.words[kInput]),
                std::max(words.filter, problem_.words[kFilter]),
                std::max(words.leaving, problem_.words[kOutput])};
  const auto& [input, filter, leaving] = part.moved;
  part.offchip_words = offchip_words(fixed, {input, filter, leaving});
  part.l2_accesses = input + filter + 2 * leaving - problem_.words[kOutput] + part.offchip_words;
  part.noc_words = leaving;
}

// Accesses of the clusters' buffers by what they take in, and words on the networks.
void Bounds::count_clusters(Parts& parts) const {
  const LevelTraffic units(problem_, counts_, &LoopCounts::outer, box_.parallel[0]);
  for (Part& part : parts) {
    const double taken_in = units.least(part.innermost).fetched();
    part.l1_accesses = taken_in;
    part.noc_words += taken_in;
  }
}

// Accesses of these buffers and of those of PEs by what passes between them.
void Bounds::count_pes(const LevelTraffic& traffic, Parts& parts) const {
  const LevelTraffic units(problem_, counts_, &LoopCounts::inner, box_.parallel[1]);
  for (Part& part : parts) {
    part.moved = traffic.least(part.innermost);
    const double taken_in = units.least(part.innermost).fetched();
    part.l1_accesses = taken_in + part.moved.fetched() + 2 * part.moved.leaving;
    part.noc_words = taken_in + part.moved.leaving;
  }
}

void Bounds::trade(const Needs& needs, Sides& sides) const {
  const Trade of_clusters(problem_, box_, 0, most_held(0, needs));
  const Trade of_pes(problem_, box_, 1, most_held(1, needs));
  for (Part& part : sides.outer) {
    part.traded_nj = of_clusters.more_nj(part.innermost, part.moved, 1);
  }
  for (Part& part : sides.inner) {
    const int x = part.innermost;
    const double share = x == kNone ? 0 : counts_[x].inner.moving / counts_[x].inner.extent;
    part.traded_nj = of_pes.more_nj(x, part.moved, share);
  }
}

// Cycles by words and by what is computed (lemma 17), ...
void Bounds::add_cycles(const Latency& latency, Sides& sides) {
  sides.fixed.cycles = latency.computing();
  for (Part& part : sides.outer) part.cycles = latency.moving(part.moved, part.offchip_words);
  for (Part& part : sides.inner) part.cycles = latency.moving_below(part.innermost);
}

// ... and by sweeps and tiles (lemmas 18 and 19).
void Bounds::add_sweeps(const Latency& latency, const LevelTraffic& outer, Sides& sides) {
  const auto raise = [](double& cycles, double by) { cycles = std::max(cycles, by); };
  raise(sides.fixed.cycles, latency.beside_tiles());
  for (Part& part : sides.outer) raise(part.cycles, latency.sweeping(outer, part.innermost));
  for (Part& part : sides.inner) raise(part.cycles, latency.sweeping_below(part.innermost));
}

// Words that the array's tile of each tensor has at most, with the least tiles of the others.
PerTensor Bounds::most_held(std::size_t level, const Needs& least) const {
  const Hardware& hardware = problem_.hardware;
  const auto l1 = static_cast<double>(hardware.l1_words());
  const auto l2 = static_cast<double>(hardware.l2_words());
  const PerTensor& tiles = level == 0 ? least.cluster : least.pe;
  const int dealt = box_.parallel[level];
  const auto deals = [&](int tensor) {
    if (dealt == kNone) return false;
    const Loop& loop = problem_.loops[dealt];
    if (tensor == kInput) return loop.input() || loop.slides();
    return tensor == kFilter ? loop.filter() : loop.output();
  };
  PerTensor held;
  for (int t = 0; t < kTensors; ++t) {
    const double others = tiles[kInput] + tiles[kFilter] + tiles[kOutput] - tiles[t];
    if (level == 1) {
      const auto units = static_cast<double>(deals(t) ? units_[1].most : 1);
      held[t] = units * ((l1 - least.share) / 2 - others);
      continue;
    }
    // Clusters and their PEs are no more than all PEs.
    const double shared = (l1 - (least.l1 - least.share)) / 2;
    held[t] = deals(t) ? shared * hardware.num_pes - static_cast<double>(units_[0].least) * others
                       : shared * static_cast<double>(units_[1].most) - others;
    const double room = l2 - (least.sum() - least.l2[t]);
    held[t] = std::min(held[t], room >= problem_.words[t] ? problem_.words[t] : room / 2);
  }
  for (double& words : held) words = std::max(words, 1.0);
  return held;
}

}  // namespace gym::optimum
