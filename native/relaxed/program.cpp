#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "../core/integers.hpp"

namespace gym::relaxed {

namespace {

constexpr std::int64_t kManyUnits = 64;

double words_of(const hierarchy::Shape& shape, TensorId tensor, const Counts& tile) {
  const auto product = [&](LoopSet dims) {
    double words = 1;
    for (int d = 0; d < kLoops; ++d) {
      if (has(dims, static_cast<LoopId>(d))) words *= static_cast<double>(tile[d]);
    }
    return words;
  };
  if (tensor == kFilter) return product(kFilterLoops);
  if (tensor == kOutput) return product(kOutputLoops);
  return product(kInputSingles) *
         touched(tile[kLoopP], tile[kLoopR], shape.stride[0], shape.dilation[0]) *
         touched(tile[kLoopQ], tile[kLoopS], shape.stride[1], shape.dilation[1]);
}

// What lies between the first and the last row and column of a tile of inputs that it leaves out.
double words_in_gaps(const hierarchy::Shape& shape, const Counts& tile) {
  const auto span = [&](int outputs, int taps, int axis) {
    return static_cast<double>((tile[outputs] - 1) * shape.stride[axis] +
                               (tile[taps] - 1) * shape.dilation[axis] + 1);
  };
  const auto planes = static_cast<double>(tile[kLoopN] * tile[kLoopG] * tile[kLoopC]);
  return planes * span(kLoopP, kLoopR, 0) * span(kLoopQ, kLoopS, 1) - words_of(shape, kInput, tile);
}

}  // namespace

Program::Program(const Problem& problem, double ratio, bool dividing,
                 const std::vector<Counts>& units, const std::array<Counts, 2>& outer)
    : problem_(problem),
      grid_(problem.shape.extent, ratio, units, outer),
      charges_(problem, grid_, dividing) {}

double Program::least(const Box& box, const Weights& weights, const Limits& limits,
                      std::vector<hierarchy::MappedLoop>* trace) {
  traced_ = trace != nullptr;
  const double found = run(box, weights, limits);
  if (traced_ && found < kInfinite) *trace = nest();
  passed_.clear();
  return found;
}

double Program::run(const Box& box, const Weights& weights, const Limits& limits) {
  charges_.set(box, weights);
  box_ = &box;
  passed_.clear();
  tables_.clear();
  tables_[0].cost.assign(static_cast<std::size_t>(grid_.states()), 0);
  bool moving = false;  // whether loops here bring other words to something
  for (int e = problem_.elements() - 1; e >= 0; --e) {
    if (!problem_.is_memory(e)) {
      share(e, box.units[e]);
      if (e == problem_.outermost_fanout()) use_macs();
    } else {
      // What the last memory gets is executed MAC by MAC, whatever its loops.
      if (moving && e == 0) keep_outer();
      if (moving) pass_taps(e);
      if (moving) pass_loops(e);
      enter(e, weights, limits);
    }
    moving = true;
  }
  const std::size_t whole = tables_.begin()->second.cost.size() - 1;
  double best = kInfinite;
  for (const auto& [open, costs] : tables_) {
    double cost = costs.cost[whole];
    for (std::size_t b = 0; b < boundaries(); ++b) {
      if ((open >> b & 1) != 0) cost += charges_.once(b);
    }
    if (cost >= best) continue;
    best = cost;
    last_ = {open, static_cast<std::int32_t>(whole), kTensors};
  }
  return problem_.outermost_fanout() < problem_.elements() ? best : best + charges_.at_mac(0);
}

// What MACs move depends on the dimensions that the outermost fan-out gets whole.
void Program::use_macs() {
  std::map<LoopSet, double> charges;
  Table more;
  more.reserve(static_cast<std::size_t>(grid_.states()));
  grid_.each(kAllLoops, [&](const auto& index) {
    LoopSet whole = 0;
    for (int d = 0; d < kLoops; ++d) {
      const std::vector<Class>& classes = grid_.classes(d);
      if (index[d] + 1 == std::ssize(classes)) whole |= set_of(static_cast<LoopId>(d));
    }
    const auto [charge, fresh] = charges.try_emplace(whole, 0.0);
    if (fresh) charge->second = charges_.at_mac(whole);
    more.push_back(charge->second);
  });
  for (auto& [open, costs] : tables_) {
    for (std::size_t s = 0; s < more.size(); ++s) costs.cost[s] += more[s];
  }
}

// Most of the time goes here, often for few states.
inline void Program::lower(Costs& costs, std::int64_t at, const Costs& others, std::int64_t from,
                           std::int64_t count) {
  double* to = &costs.cost[static_cast<std::size_t>(at)];
  const double* other = &others.cost[static_cast<std::size_t>(from)];
  if (!costs.from.empty()) {
    lower_traced(costs, at, others, from, count);
    return;
  }
#pragma GCC ivdep
  for (std::int64_t k = 0; k < count; ++k) to[k] = std::min(to[k], other[k]);
}

// ---- Stages -------------------------------------------------------------------------------------

void Program::begin() {
  if (!traced_) return;
  for (auto& [open, costs] : tables_) {
    costs.from.resize(costs.cost.size());
    for (std::size_t s = 0; s < costs.from.size(); ++s) {
      costs.from[s] = {open, static_cast<std::int32_t>(s), kTensors};
    }
  }
}

void Program::end(Stage stage, int element) {
  if (!traced_) return;
  passed_.push_back({stage, element, {}});
  for (auto& [open, costs] : tables_) passed_.back().from[open] = std::move(costs.from);
}

// Loops of taps may be innermost: then inputs and outputs stay (P3).
void Program::pass_taps(int memory) {
  const LoopSet taps = problem_.loops[memory] & kTaps;
  if (problem_.shape.extent[kLoopR] * problem_.shape.extent[kLoopS] == 1 || taps == 0) return;
  const std::vector<Table> closed = closed_at(memory);
  begin();
  Tables found = tables_;
  for (auto& [open, costs] : tables_) {
    const Open filters = open & of_tensor(kFilter);
    add(costs, filters, closed);
    sweep(costs, taps);
    lower(found, open & ~filters, costs);
  }
  tables_ = std::move(found);
  end(Stage::taps, memory);
}

// No loop, or loops that one tensor rests in, innermost, and then any others (P3).
void Program::pass_loops(int memory) {
  const LoopSet loops = problem_.loops[memory];
  const std::vector<Table> closed = closed_at(memory);
  begin();
  Tables found;
  for (auto& [open, costs] : tables_) {
    if (open == 0) sweep(costs, loops);
    lower(found, open, costs);
    for (const TensorId t : {kInput, kFilter, kOutput}) {
      const Open own = open & of_tensor(t);
      if (own == 0) continue;
      Costs moved = costs;
      add(moved, open & ~own, closed);
      sweep(moved, loops & ~kMoving[t]);
      for (Source& source : moved.from) source.resting = t;
      lower(found, own, moved);
      add(moved, own, closed);
      sweep(moved, loops & kMoving[t]);
      lower(found, 0, moved);
    }
  }
  tables_ = std::move(found);
  end(Stage::loops, memory);
}

// The loops of the first memory leave tiles of the box alone.
void Program::keep_outer() {
  for (int d = 0; d < kLoops; ++d) {
    if (box_->least[d] == 1 && box_->most[d] == problem_.shape.extent[d]) continue;
    for (auto& [open, costs] : tables_) {
      for (std::size_t s = 0; s < costs.cost.size(); ++s) {
        const auto place = grid_.at(static_cast<std::int64_t>(s), d);
        const Class& tile = grid_.classes(d)[static_cast<std::size_t>(place)];
        if (tile.most < box_->least[d] || tile.least > box_->most[d]) costs.cost[s] = kInfinite;
      }
    }
  }
}

// Of the boundaries that are open somewhere.
std::vector<Table> Program::closed_at(int memory) const {
  std::vector<Table> found(boundaries());
  for (const auto& [open, costs] : tables_) {
    for (std::size_t b = 0; b < boundaries(); ++b) {
      if ((open >> b & 1) != 0 && found[b].empty()) found[b] = charges_.closed(b, memory);
    }
  }
  return found;
}

// What a memory gets has room and does not take too long to fill; its boundaries open.
void Program::enter(int memory, const Weights& weights, const Limits& limits) {
  if (memory == 0) return;
  const hierarchy::Memory& own = problem_.accelerator.elements[memory].memory;
  const hierarchy::Memory& pool = problem_.accelerator.elements[own.pool].memory;
  // The first memory's tiles are what the next element gets.
  const double refill = memory == 1 ? problem_.accelerator.elements[0].memory.refill : 0;
  const double units = units_above(memory);
  const std::array<std::vector<Class>, kLoops> sizes = sizes_at(memory);
  Table more;
  more.reserve(static_cast<std::size_t>(grid_.states()));
  grid_.each(kAllLoops, [&](const auto& index) {
    Counts tile;
    double output_tiles = 1, all_tiles = 1, last_outputs = 1;
    bool fits = true;
    for (int d = 0; d < kLoops; ++d) {
      const Class& of = sizes[d][index[d]];
      tile[d] = of.least;
      fits = fits && of.least <= std::min(of.most, problem_.tiles[memory][d]);
      const auto chunks = static_cast<double>(ceil_div(problem_.shape.extent[d], of.most));
      all_tiles *= chunks;
      if (!has(kOutputLoops, static_cast<LoopId>(d))) continue;
      output_tiles *= chunks;
      last_outputs *= static_cast<double>(charges_.least_last(d, of.least));
    }
    const auto& exposed = limits.exposed[memory];
    double all = 0, cycles = 0;
    if (exposed[kTensors] > 0) cycles = exposed[kTensors] * words_in_gaps(problem_.shape, tile);
    for (const TensorId t : {kInput, kFilter, kOutput}) {
      if (!own.keeps[t]) continue;
      const double words = words_of(problem_.shape, t, tile);
      const double bits = words * static_cast<double>(own.width[t] * own.buffers);
      fits = fits && bits <= pool.capacity[t];
      all += bits;
      if (t != kOutput) cycles += words * exposed[t];
    }
    const double again = refill * (output_tiles - 1);
    const double steps = std::ceil(all_tiles / units);
    const double drain = last_outputs * exposed[kOutput];
    fits = fits && all <= pool.capacity[kTensors] &&
           cycles * (1 + again) + drain <= limits.exposed_cycles &&
           steps * static_cast<double>(own.step_cycles) <= limits.cycles;
    const double edges =
        cycles * (weights.fills[memory] + weights.refill * again) + drain * weights.drains[memory];
    more.push_back(fits ? edges + steps * weights.steps[memory] : kInfinite);
  });
  begin();
  Tables found;
  Open opened = 0;
  for (std::size_t b = 0; b < boundaries(); ++b) {
    if (problem_.boundaries[b].child == memory) opened |= Open{1} << b;
  }
  for (auto& [open, costs] : tables_) {
    for (std::size_t s = 0; s < more.size(); ++s) costs.cost[s] += more[s];
    lower(found, open | opened, costs);
  }
  tables_ = std::move(found);
  end(Stage::room, memory);
}

// A fan-out deals units to dimensions, one dimension after the other.
void Program::share(int fanout, const Units& units) {
  begin();
  const std::int64_t size = problem_.accelerator.elements[fanout].fanout.size;
  // Of many numbers of units those that are close count together.
  const bool several = std::ranges::any_of(units.most, [](auto most) { return most > kManyUnits; });
  for (auto& [open, costs] : tables_) {
    std::map<std::int64_t, Costs> by_left;
    by_left[size] = std::move(costs);
    for (int d = 0; d < kLoops; ++d) {
      if (units.most[d] == 1) continue;
      std::int64_t wanted = 1;  // by the dimensions that follow, and what they could do with
      double useful = 1;
      for (int next = d + 1; next < kLoops; ++next) {
        wanted *= units.least[next];
        useful *= static_cast<double>(units.most[next]);
      }
      std::map<std::int64_t, Costs> found;
      for (const auto& [left, from] : by_left) {
        const std::int64_t most = std::min(units.most[d], left / wanted);
        for (std::int64_t n = units.least[d]; n <= most;) {
          const std::int64_t last = std::min(most, several ? n * 5 / 4 : n);
          const double rest = std::min(static_cast<double>(left / n), useful);
          const auto to = found.try_emplace(static_cast<std::int64_t>(rest), unreachable()).first;
          share(from, to->second, d, n, last);
          n = last + 1;
        }
      }
      by_left = std::move(found);
    }
    costs = unreachable();
    for (const auto& [left, each] : by_left) lower(costs, 0, each, 0, grid_.states());
  }
  end(Stage::units, fanout);
}

// The units, from `least` to `most`, get equal shares: tiles T become ceil(T/n), where n get some
// (P6).
void Program::share(const Costs& from, Costs& to, int dim, std::int64_t least,
                    std::int64_t most) const {
  const std::vector<Class>& classes = grid_.classes(dim);
  const std::int64_t stride = grid_.stride(dim), count = std::ssize(classes);
  for (std::int64_t i = 0; i < count; ++i) {
    const Class& tile = classes[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j <= i; ++j) {
      const Class& share = classes[static_cast<std::size_t>(j)];
      const bool deals = most == 1 ? i == j
                                   : share.least <= ceil_div(tile.most, least) &&
                                         share.most >= ceil_div(tile.least, most) &&
                                         tile.most > (least - 1) * share.least;
      if (!deals) continue;
      for (std::int64_t block = 0; block < grid_.states(); block += stride * count) {
        lower(to, block + i * stride, from, block + j * stride, stride);
      }
    }
  }
}

// ---- Tables -------------------------------------------------------------------------------------

Program::Costs Program::unreachable() const {
  Costs costs;
  costs.cost.assign(static_cast<std::size_t>(grid_.states()), kInfinite);
  if (traced_) costs.from.resize(costs.cost.size());
  return costs;
}

void Program::lower(Tables& tables, Open open, const Costs& others) {
  const auto [found, fresh] = tables.try_emplace(open, others);
  if (!fresh) lower(found->second, 0, others, 0, std::ssize(others.cost));
}

void Program::add(Costs& costs, Open open, const std::vector<Table>& closed) {
  for (std::size_t b = 0; b < closed.size(); ++b) {
    if ((open >> b & 1) == 0) continue;
    for (std::size_t s = 0; s < costs.cost.size(); ++s) costs.cost[s] += closed[b][s];
  }
}

// Loops of some dimensions may stand here, so that an element gets more than they leave.
void Program::sweep(Costs& costs, LoopSet dims) const {
  for (int d = 0; d < kLoops; ++d) {
    const std::int64_t stride = grid_.stride(d), count = std::ssize(grid_.classes(d));
    if (!has(dims, static_cast<LoopId>(d)) || count == 1) continue;
    for (std::int64_t block = 0; block < grid_.states(); block += stride * count) {
      if (!traced_) {
        double* to = &costs.cost[static_cast<std::size_t>(block)];
        for (std::int64_t k = stride; k < stride * count; ++k)
          to[k] = std::min(to[k], to[k - stride]);
        continue;
      }
      for (std::int64_t to = block + stride; to < block + stride * count; to += stride) {
        lower(costs, to, costs, to - stride, stride);
      }
    }
  }
}

Program::Open Program::of_tensor(TensorId tensor) const {
  Open open = 0;
  for (std::size_t b = 0; b < boundaries(); ++b) {
    if (problem_.boundaries[b].tensor == tensor) open |= Open{1} << b;
  }
  return open;
}

// ---- Sizes ------------------------------------------------------------------------------------

// Tiles of each class that a memory may get: all units inside work (P6), and what the first
// memory's loops leave is of the box. There are none if the least is above the most.
std::array<std::vector<Class>, kLoops> Program::sizes_at(int memory) const {
  std::array<std::vector<Class>, kLoops> found;
  for (int d = 0; d < kLoops; ++d) {
    std::int64_t least = 1;
    for (int f = problem_.elements() - 1; f > memory; --f) {
      if (!problem_.is_memory(f)) least = nested(box_->units[f].least[d], least);
    }
    if (memory == 1) least = std::max(least, box_->least[d]);
    for (const Class& of : grid_.classes(d)) {
      found[d].push_back({std::max(of.least, least), std::min(of.most, box_->most[d])});
    }
  }
  return found;
}

// Units of the fan-outs outside of an element, at most.
double Program::units_above(int element) const {
  double units = 1;
  for (int f = 0; f < element; ++f) {
    if (problem_.is_memory(f)) continue;
    double most = 1;
    for (const std::int64_t each : box_->units[f].most) most *= static_cast<double>(each);
    units *= std::min(most, static_cast<double>(problem_.accelerator.elements[f].fanout.size));
  }
  return units;
}

}  // namespace gym::relaxed
