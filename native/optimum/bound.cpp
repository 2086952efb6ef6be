#include "bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "../area_power.hpp"
#include "../constants.hpp"

namespace gym::optimum {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Units of both levels for a range of cluster sizes, given in PEs.
std::array<Units, 2> units_of(const Problem& problem, Choices cluster) {
  const Index least = problem.clusters[cluster.least], most = problem.clusters[cluster.most];
  const Index pes = problem.hardware.num_pes;
  return {Units{pes / most, pes / least}, Units{least, most}};
}

double noc_cycles(const Hardware& hardware, double words) {
  return static_cast<double>(hardware.noc_latency) + std::ceil(words / hardware.noc_bw) - 1;
}

// Transfers of so many words in all, at most so many. Without latency each rounds up and takes a
// cycle less.
double noc_cycles(const Hardware& hardware, double words, double most) {
  const double cycles = std::ceil(words / hardware.noc_bw);
  return hardware.noc_latency == 0 ? std::max(0.0, cycles - most) : cycles;
}

// So many transfers or more.
double noc_cycles(const Hardware& hardware, double words, double least, double most) {
  const double cycles = noc_cycles(hardware, words, most);
  if (hardware.noc_latency == 0) return cycles;
  return static_cast<double>(hardware.noc_latency - 1) * least + std::max(least, cycles);
}

}  // namespace

Bounds::Bounds(const Problem& problem, Objective objective)
    : problem_(problem), objective_(objective), counts_(problem.loops.size()) {}

void Bounds::enter(const Box& box) {
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

std::vector<int> Bounds::innermost(std::size_t level) const {
  std::vector<int> loops;
  const auto add = [&](int loop) {
    const int decided = box_.innermost[level];
    if (decided == kAny || decided == loop) loops.push_back(loop);
  };
  bool rests = true;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const LoopCounts& counts = counts_[i];
    if (level == 0 ? counts.outer.moves : counts.inner.moves) add(static_cast<int>(i));
    rests &= level == 0 ? counts.outer_rests : counts.inner_rests;
  }
  if (rests) add(kNone);
  return loops;
}

double Bounds::least() const {
  const Fixed common = fixed();
  const LevelTraffic outer(problem_, counts_, &LoopCounts::outer, box_.parallel[0]);
  const LevelTraffic inner(problem_, counts_, &LoopCounts::inner, box_.parallel[1]);
  const LevelTraffic own(problem_, counts_, &LoopCounts::own, box_.parallel[1]);
  std::array<Part, kLoops + 1> parts;
  std::size_t count = 0;
  for (const int x : innermost(1)) parts[count++] = inner_part(inner, own, common, x);
  double least = kNever;
  for (const int x : innermost(0)) {
    const Part part = outer_part(outer, common, x);
    for (std::size_t i = 0; i < count; ++i) least = std::min(least, cost(common, part, parts[i]));
  }
  return least;
}

// As the model computes them from its counts: of counts that are no larger, the result is no
// larger, rounded or not.
double Bounds::cost(const Fixed& fixed, const Part& outer, const Part& inner) const {
  using namespace constants;
  double cost = 1;
  if (objective_.latency) cost *= std::max({fixed.cycles, outer.cycles, inner.cycles});
  if (objective_.energy) {
    const double macs = static_cast<double>(problem_.nest.macs());
    cost *=
        kMacEnergyNj * (macs + kL1AccessMacs * (4 * macs + outer.l1_accesses + inner.l1_accesses) +
                        kL2AccessMacs * outer.l2_accesses +
                        problem_.hardware.offchip_cost_macs * outer.offchip_words);
  }
  if (objective_.area) cost *= fixed.area;
  return cost;
}

// Words of a tile of so many indices of each loop.
template <typename Size>
Bounds::PerTensor Bounds::tile_words(const Size& size) const {
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
  const double share = std::ceil(two(tile_words(cluster)) / static_cast<double>(units[1].most));
  Needs needs{two(tile_words(pe)) + share, tile_words(array)};
  for (int t = 0; t < kTensors; ++t) {
    needs.l2[t] = std::min(2 * needs.l2[t], problem_.words[t]);
  }
  return needs;
}

bool Bounds::fits(const Box& box) const {
  const Hardware& hardware = problem_.hardware;
  if (hardware.l1_bytes == kUnlimitedBytes && hardware.l2_bytes == kUnlimitedBytes) return true;
  const Needs least = needs(box);
  return least.l1 <= static_cast<double>(hardware.l1_bytes) &&
         least.sum() <= static_cast<double>(hardware.l2_bytes);
}

// Sums over the pieces: loops that a tensor does not have repeat it.
template <typename Select>
Bounds::Run Bounds::run(const Select& select, double most_transfers) const {
  double pieces = 1, steps = 1;
  double share = problem_.whole.macs, begun = share, ended = share;
  double input = problem_.whole.input, filter = problem_.whole.filter,
         output = problem_.whole.output;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const Loop& loop = problem_.loops[i];
    const Runs& counts = select(i);
    const double repeats = counts.pieces;
    pieces *= repeats;
    steps *= counts.all.steps;
    share *= counts.all.indices;
    begun *= counts.begun;
    ended *= counts.ended;
    if (loop.slides() && loop.window == kNone) {
      input *= counts.first * static_cast<double>(loop.fresh) +
               repeats * static_cast<double>(loop.halo);
    } else {
      input *= loop.input() || loop.slides() ? counts.first : repeats;
    }
    filter *= loop.filter() ? counts.first : repeats;
    output *= loop.output() ? counts.last : repeats;
  }
  const Hardware& hardware = problem_.hardware;
  // A step takes a cycle or more.
  const auto computed = [&](double macs, double least) {
    return std::max(std::ceil(macs / hardware.simd_lanes), least);
  };
  return {noc_cycles(hardware, input + filter, pieces, most_transfers), computed(share, steps),
          noc_cycles(hardware, output, pieces, most_transfers), computed(begun, pieces),
          computed(ended, pieces)};
}

Bounds::Run Bounds::run(Runs LoopCounts::* runs, double most_transfers) const {
  return run([&](std::size_t i) -> const Runs& { return counts_[i].*runs; }, most_transfers);
}

// Cycles of the first cluster in some of its pieces along a loop.
double Bounds::first_cluster(int x, Runs LoopCounts::* some, const Fixed& fixed) const {
  const auto select = [&](std::size_t i) -> const Runs& {
    return static_cast<int>(i) == x ? counts_[i].*some : counts_[i].runs;
  };
  return run(select, fixed.most_steps).cycles();
}

// Cycles of the first PE in some of the steps along a loop, in all pieces of the first cluster.
double Bounds::first_pe(int x, Runs::Work Runs::* some) const {
  double steps = 1, macs = problem_.whole.macs;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const Runs& runs = counts_[i].runs;
    const Runs::Work& work = static_cast<int>(i) == x ? runs.*some : runs.all;
    steps *= work.steps;
    macs *= work.indices;
  }
  return std::max(std::ceil(macs / problem_.hardware.simd_lanes), steps);
}

Bounds::Fixed Bounds::fixed() const {
  const Hardware& hardware = problem_.hardware;
  const auto bandwidth = static_cast<double>(hardware.offchip_bw);
  const PerTensor first = tile_words([this](std::size_t i) { return counts_[i].first; });
  const PerTensor last = tile_words([this](std::size_t i) { return counts_[i].last; });
  Fixed fixed;
  fixed.most_steps = fixed.most_below = 1;
  for (const LoopCounts& counts : counts_) {
    fixed.most_steps *= counts.most_steps;
    fixed.most_below *= counts.most_below;
  }
  const Needs least = needs(box_);
  const double in = first[kInput] + first[kFilter];
  fixed.offchip = std::ceil(in / bandwidth) + std::ceil(last[kOutput] / bandwidth);
  fixed.fill = noc_cycles(hardware, in);
  fixed.drain = noc_cycles(hardware, last[kOutput]);
  fixed.begun = run(&LoopCounts::first_run, 1).cycles();
  fixed.ended = run(&LoopCounts::last_run, 1).cycles();
  fixed.run = run(&LoopCounts::runs, fixed.most_steps);
  fixed.cycles = fixed.offchip + fixed.fill + fixed.run.cycles() + fixed.drain;
  fixed.area = block_area_um2(hardware, least.l1, least.sum());
  for (std::size_t set = 0; set < fixed.keeps.size(); ++set) {
    double used = 0;
    for (int t = 0; t < kTensors; ++t) {
      used += (set >> t & 1) != 0 ? problem_.words[t] : least.l2[t];
    }
    fixed.keeps[set] = used <= static_cast<double>(hardware.l2_bytes);
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
  const double input = std::max(words.fetched_input, problem_.words[kInput]);
  const double filter = std::max(words.fetched_filter, problem_.words[kFilter]);
  const double leaving = std::max(words.leaving, problem_.words[kOutput]);
  Part part{};
  part.offchip_words = offchip_words(fixed, {input, filter, leaving});
  part.l1_accesses = words.unit_input + words.unit_filter;
  part.l2_accesses = input + filter + 2 * leaving - problem_.words[kOutput] + part.offchip_words;
  // The first fill is one of the transfers in, the last drain one of those out.
  const double in = noc_cycles(hardware, input + filter, fixed.most_steps);
  const double out = noc_cycles(hardware, leaving, fixed.most_steps);
  double onchip = std::max(in + fixed.ended + fixed.drain, fixed.fill + fixed.begun + out);
  if (x != kNone && objective_.latency) {
    const EndWords ends = traffic.at_ends(x);
    const double begins =
        std::max(noc_cycles(hardware, ends.fetched, fixed.most_steps) + fixed.ended,
                 fixed.fill + noc_cycles(hardware, ends.before, fixed.most_steps));
    const double leaves = noc_cycles(hardware, ends.leaving, fixed.most_steps) + fixed.begun;
    onchip = std::max(
        {onchip, begins + first_cluster(x, &LoopCounts::but_last, fixed) + fixed.drain,
         fixed.fill + first_cluster(x, &LoopCounts::but_first, fixed) + leaves,
         begins + first_cluster(x, &LoopCounts::between, fixed) + leaves});
  }
  const double offchip = std::ceil(part.offchip_words / hardware.offchip_bw);
  part.cycles = std::max(offchip, fixed.offchip + onchip);
  return part;
}

Bounds::Part Bounds::inner_part(const LevelTraffic& all, const LevelTraffic& own,
                                const Fixed& fixed, int x) const {
  const Hardware& hardware = problem_.hardware;
  const Words words = all.least(x);
  Part part{};
  part.l1_accesses = words.unit_input + words.unit_filter + words.fetched_input +
                     words.fetched_filter + 2 * words.leaving;
  const Words first = own.least(x);
  const double fetched = first.fetched_input + first.fetched_filter;
  const double in = noc_cycles(hardware, fetched, fixed.most_below);
  const double out = noc_cycles(hardware, first.leaving, fixed.most_below);
  const Run& run = fixed.run;
  double cycles = std::max(in + run.ended + run.drained, run.filled + run.begun + out);
  if (x != kNone && objective_.latency) {
    const EndWords ends = own.at_ends(x);
    const double begins =
        std::max(noc_cycles(hardware, ends.fetched, fixed.most_below) + run.ended,
                 run.filled + noc_cycles(hardware, ends.before, fixed.most_below));
    const double leaves = noc_cycles(hardware, ends.leaving, fixed.most_below) + run.begun;
    cycles = std::max({cycles, begins + first_pe(x, &Runs::but_last) + run.drained,
                       run.filled + first_pe(x, &Runs::but_first) + leaves});
    if (counts_[x].own.all_moves) {
      cycles = std::max(cycles, begins + first_pe(x, &Runs::between) + leaves);
    }
  }
  part.cycles = fixed.offchip + fixed.fill + cycles + fixed.drain;
  return part;
}

}  // namespace gym::optimum
