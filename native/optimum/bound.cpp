#include "bound.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "../core/area_power.hpp"

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
  const FirstCluster cluster(problem_, counts_);
  Fixed common = fixed(cluster);
  const LevelTraffic outer(problem_, counts_, &LoopCounts::outer);
  const LevelTraffic own(problem_, counts_, &LoopCounts::own);
  Parts outer_parts, inner_parts;
  std::size_t outers = 0, inners = 0;
  for (const int x : innermost(0)) outer_parts[outers++] = outer_part(outer, common, x);
  for (const int x : innermost(1)) inner_parts[inners++] = inner_part(own, common, x);
  if (objective_.energy) {
    count_clusters(outer_parts, outers);
    count_pes(inner_parts, inners);
    if (lemmas_ == Lemmas::kAll) trade(outer_parts, outers, inner_parts, inners);
  }
  const auto least = [&] {
    double least = kNever;
    for (std::size_t i = 0; i < outers; ++i) {
      for (std::size_t j = 0; j < inners; ++j) {
        least = std::min(least, cost(common, outer_parts[i], inner_parts[j]));
      }
    }
    return least;
  };
  const double plain = least();
  if (!objective_.latency || plain >= enough_) return plain;
  common.cycles =
      std::max(common.cycles, exposed(common) + cluster.beside_tiles(common.inner.transfers));
  for (std::size_t i = 0; i < outers; ++i) add_sweeps(outer, cluster, common, outer_parts[i]);
  for (std::size_t i = 0; i < inners; ++i) add_sweeps_below(own, cluster, common, inner_parts[i]);
  return least();
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

// Words of a tile of so many indices of each loop.
template <typename Size>
PerTensor Bounds::tile_words(const Size& size) const {
  double input = problem_.whole.input, filter = problem_.whole.filter,
         output = problem_.whole.output;
  for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
    const Loop& loop = problem_.loops[i];
    const double indices = size(i);
    if (loop.slides()) {
      const double taps = loop.window == kNone ? static_cast<double>(loop.taps) : size(loop.window);
      input *= (indices - 1) * std::min(static_cast<double>(loop.stride), taps) + taps;
    } else if (loop.input()) {
      input *= indices;
    }
    if (loop.filter()) filter *= indices;
    if (loop.output()) output *= indices;
  }
  return {input, filter, output};
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
  const PerTensor of_cluster = tile_words(cluster), of_pe = tile_words(pe);
  const double share = round_up(two(of_cluster) / static_cast<double>(units[1].most));
  Needs needs{two(of_pe) + share, tile_words(array), of_cluster, of_pe, share};
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

Bounds::Fixed Bounds::fixed(const FirstCluster& cluster) const {
  const Hardware& hardware = problem_.hardware;
  const auto bandwidth = static_cast<double>(hardware.offchip_bw);
  const PerTensor first = tile_words([this](std::size_t i) { return counts_[i].first; });
  const PerTensor last = tile_words([this](std::size_t i) { return counts_[i].last; });
  Fixed fixed;
  const Needs least = needs(box_);
  const double in = first[kInput] + first[kFilter];
  fixed.offchip = round_up(in / bandwidth) + round_up(last[kOutput] / bandwidth);
  fixed.outer = {noc_cycles(hardware, in),
                 noc_cycles(hardware, last[kOutput]),
                 cluster.of_one(&LoopCounts::first_run),
                 cluster.of_one(&LoopCounts::last_run),
                 {1, 1}};
  const FirstCluster::Cycles& cycles = cluster.cycles();
  fixed.inner = {cycles.filled, cycles.drained, cycles.begun, cycles.ended, {1, 1}};
  for (const LoopCounts& counts : counts_) {
    fixed.outer.transfers.most *= counts.most_steps;
    fixed.inner.transfers.most *= counts.most_below;
  }
  fixed.inner.transfers.alone = fixed.outer.transfers.most;
  fixed.cycles = fixed.offchip + fixed.outer.fill + cycles.all() + fixed.outer.drain;
  const auto word_bytes = static_cast<double>(hardware.word_bytes);
  fixed.area = block_area_um2(hardware, word_bytes * least.l1, word_bytes * least.sum());
  for (std::size_t set = 0; set < fixed.keeps.size(); ++set) {
    double used = 0;
    for (int t = 0; t < kTensors; ++t) {
      used += (set >> t & 1) != 0 ? problem_.words[t] : least.l2[t];
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

Bounds::Part Bounds::outer_part(const LevelTraffic& traffic, const Fixed& fixed, int x) const {
  const Hardware& hardware = problem_.hardware;
  const Words words = traffic.least(x);
  const double input = std::max(words.input, problem_.words[kInput]);
  const double filter = std::max(words.filter, problem_.words[kFilter]);
  const double leaving = std::max(words.leaving, problem_.words[kOutput]);
  Part part{};
  part.innermost = x;
  part.offchip_words = offchip_words(fixed, {input, filter, leaving});
  part.l2_accesses = input + filter + 2 * leaving - problem_.words[kOutput] + part.offchip_words;
  part.noc_words = leaving;
  // Infinite if nothing fits.
  const double offchip = std::ceil(part.offchip_words / hardware.offchip_bw);
  const double onchip = moved(fixed.outer, {input, filter, leaving});
  part.cycles = std::max(offchip, fixed.offchip + onchip);
  return part;
}

Bounds::Part Bounds::inner_part(const LevelTraffic& own, const Fixed& fixed, int x) const {
  Part part{};
  part.innermost = x;
  part.cycles = exposed(fixed) + moved(fixed.inner, own.least(x));
  return part;
}

// Accesses of the clusters' buffers by what they take in, and words on the networks.
void Bounds::count_clusters(Parts& parts, std::size_t count) const {
  const LevelTraffic units(problem_, counts_, &LoopCounts::outer, box_.parallel[0]);
  for (std::size_t i = 0; i < count; ++i) {
    const double taken_in = units.least(parts[i].innermost).fetched();
    parts[i].l1_accesses = taken_in;
    parts[i].noc_words += taken_in;
  }
}

// Accesses of these buffers and of those of PEs by what passes between them.
void Bounds::count_pes(Parts& parts, std::size_t count) const {
  const LevelTraffic array(problem_, counts_, &LoopCounts::inner);
  const LevelTraffic units(problem_, counts_, &LoopCounts::inner, box_.parallel[1]);
  for (std::size_t i = 0; i < count; ++i) {
    const Words words = array.least(parts[i].innermost);
    const double taken_in = units.least(parts[i].innermost).fetched();
    parts[i].l1_accesses = taken_in + words.fetched() + 2 * words.leaving;
    parts[i].noc_words = taken_in + words.leaving;
  }
}

void Bounds::trade(Parts& outer, std::size_t outers, Parts& inner, std::size_t inners) const {
  const Needs needs = this->needs(box_);
  const LevelTraffic array(problem_, counts_, &LoopCounts::outer);
  const LevelTraffic below(problem_, counts_, &LoopCounts::inner);
  const Trade of_clusters(problem_, box_, 0, most_held(0, needs));
  const Trade of_pes(problem_, box_, 1, most_held(1, needs));
  for (std::size_t i = 0; i < outers; ++i) {
    Words words = array.least(outer[i].innermost);
    // As they are counted.
    words = {std::max(words.input, problem_.words[kInput]),
             std::max(words.filter, problem_.words[kFilter]),
             std::max(words.leaving, problem_.words[kOutput])};
    outer[i].traded_nj = of_clusters.more_nj(outer[i].innermost, words, 1);
  }
  for (std::size_t i = 0; i < inners; ++i) {
    const int x = inner[i].innermost;
    const double share = x == kNone ? 0 : counts_[x].inner.moving / counts_[x].inner.extent;
    inner[i].traded_nj = of_pes.more_nj(x, below.least(x), share);
  }
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

// Cycles of the first fill and the last drain.
double Bounds::exposed(const Fixed& fixed) {
  return fixed.offchip + fixed.outer.fill + fixed.outer.drain;
}

// Cycles in which the words of a level come in and what is left is computed and goes out, or in
// which the first ones come in and are computed and all words go out.
double Bounds::moved(const Ends& ends, const Words& words) const {
  const double in = noc_cycles(problem_.hardware, words.fetched(), ends.transfers);
  const double out = noc_cycles(problem_.hardware, words.leaving, ends.transfers);
  return std::max(in + ends.ended + ends.drain, ends.fill + ends.begun + out);
}

void Bounds::add_sweeps(const LevelTraffic& traffic, const FirstCluster& cluster,
                        const Fixed& fixed, Part& part) const {
  const int x = part.innermost;
  if (x == kNone) return;
  const auto computed = [&](Between some) { return cluster.of_some(x, some); };
  const double onchip = swept(fixed.outer, traffic, x, computed);
  part.cycles = std::max(part.cycles, fixed.offchip + onchip);
}

void Bounds::add_sweeps_below(const LevelTraffic& own, const FirstCluster& cluster,
                              const Fixed& fixed, Part& part) const {
  const int x = part.innermost;
  if (x == kNone) return;
  const auto computed = [&](Between some) { return cluster.of_steps(x, some); };
  part.cycles = std::max(part.cycles, exposed(fixed) + swept(fixed.inner, own, x, computed));
}

// Cycles of a level, counting of a step what it computes, or the words that come in or go out
// meanwhile: by the step's place along the loop that moves innermost.
template <typename Computed>
double Bounds::swept(const Ends& ends, const LevelTraffic& traffic, int x,
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
