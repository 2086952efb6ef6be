#include "program.hpp"

#include <algorithm>
#include <utility>

#include "../core/integers.hpp"

namespace gym::relaxed {

namespace {

constexpr std::int64_t kManyUnits = 64;

}  // namespace

Program::Program(const Problem& problem, double ratio, bool dividing,
                 const std::vector<Counts>& units, const std::array<Counts, 2>& outer)
    : problem_(problem),
      grid_(problem.shape.extent, ratio, units, outer),
      charges_(problem, grid_, dividing) {}

std::vector<double> Program::least(const Box& box, const Weights& weights, const Limits& limits) {
  traced_ = false;
  return run(box, weights, limits);
}

std::vector<hierarchy::MappedLoop> Program::trace(const Box& box, const Weights& weights,
                                                  const Limits& limits) {
  traced_ = true;
  const bool found = run(box, weights, limits)[0] < kInfinite;
  std::vector<hierarchy::MappedLoop> loops;
  if (found) loops = nest();
  passed_.clear();
  return loops;
}

std::vector<double> Program::run(const Box& box, const Weights& weights, const Limits& limits) {
  charges_.set(box, weights);
  box_ = &box;
  for (const TensorId t : {kInput, kFilter, kOutput}) {
    resting_[t].assign(static_cast<std::size_t>(problem_.elements()), 0);
    for (int e = 0; e < problem_.elements(); ++e) {
      if (problem_.is_memory(e)) resting_[t][static_cast<std::size_t>(e)] = charges_.resting(t, e);
    }
  }
  passed_.clear();
  tables_.clear();
  const bool shares = problem_.outermost_fanout() < problem_.elements();
  tables_[{}].cost.assign(static_cast<std::size_t>(grid_.states()),
                          shares ? 0 : charges_.at_mac(0));
  bool moving = false;  // whether loops here bring other words to something
  for (int e = problem_.elements() - 1; e >= 0; --e) {
    if (!problem_.is_memory(e)) {
      share(e, box.units[e]);
      if (e == problem_.outermost_fanout()) use_macs();
    } else {
      // What the last memory gets is executed MAC by MAC, whatever its loops.
      if (moving && e == 0) keep_outer();
      if (moving) pass_taps(e);
      if (moving && e == 0 && !traced_) return least_of_kinds();
      if (moving) pass_loops(e);
      enter(e, weights, limits);
    }
    moving = true;
  }
  std::vector<double> found{kInfinite};
  for (const auto& [open, costs] : tables_) {
    const double cost = left_open(costs, open);
    if (cost >= found[0]) continue;
    found[0] = cost;
    last_ = {open, static_cast<std::int32_t>(grid_.states() - 1), kTensors};
  }
  return found;
}

// What a whole layer costs, if nothing else closes what is open.
double Program::left_open(const Costs& costs, const Open& open) const {
  double cost = costs.cost.back();
  for (std::size_t b = 0; b < boundaries(); ++b) {
    if ((open.whole >> b & 1) != 0) cost += charges_.once(b);
  }
  return cost;
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
  relaxed::lower(to, other, count);
}

template <typename Others>
void Program::lower(Tables& tables, const Open& open, Others&& others) {
  const auto [found, fresh] = tables.try_emplace(open, std::forward<Others>(others));
  if (!fresh) lower(found->second, 0, others, 0, std::ssize(others.cost));
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
  const Closing closing = closing_at(memory);
  begin();
  Tables found = tables_;
  for (auto& [open, costs] : tables_) {
    const Open filters = only(open, of_tensor(kFilter)), others = only(open, ~of_tensor(kFilter));
    close(costs, filters, closing);
    sweep(costs, taps);
    lower(found, both(others, left_of(filters, memory)), std::move(costs));
  }
  tables_ = std::move(found);
  end(Stage::taps, memory);
}

// No loop, or loops that one tensor rests in, innermost, and then any others (P3).
void Program::pass_loops(int memory) {
  const LoopSet loops = problem_.loops[memory];
  const Closing closing = closing_at(memory);
  begin();
  Tables found;
  for (auto& [open, costs] : tables_) {
    if (open.any() == 0) sweep(costs, loops);
    lower(found, open, costs);
    for (const TensorId t : {kInput, kFilter, kOutput}) {
      const Open own = only(open, of_tensor(t)), others = only(open, ~of_tensor(t));
      if (own.any() == 0) continue;
      const Open left = left_of(others, memory);
      Costs moved = costs;
      close(moved, others, closing);
      sweep(moved, loops & ~kMoving[t]);
      for (Source& source : moved.from) source.resting = t;
      lower(found, both(own, left), moved);
      close(moved, own, closing);
      sweep(moved, loops & kMoving[t]);
      lower(found, both(left_of(own, memory), left), std::move(moved));
    }
  }
  tables_ = std::move(found);
  end(Stage::loops, memory);
}

// The same of the first memory, outside of which there is nothing.
std::vector<double> Program::least_of_kinds() const {
  const LoopSet loops = problem_.loops[0];
  const Closing closing = closing_at(0);
  std::vector<double> found;
  for (const auto& [open, costs] : tables_) {
    found.push_back(open.any() == 0 ? grid_.least(costs.cost, loops) : left_open(costs, open));
    for (const TensorId t : {kInput, kFilter, kOutput}) {
      const Open own = only(open, of_tensor(t));
      if (own.any() == 0) continue;
      Costs moved{costs.cost, {}};
      close(moved, only(open, ~of_tensor(t)), closing);
      sweep(moved, loops & ~kMoving[t]);
      found.push_back(left_open(moved, own));
      found.push_back(grid_.least(moved.cost, loops & kMoving[t], closing.at(own)));
    }
  }
  return found;
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

// Loops of some dimensions may stand here, so that an element gets more than they leave.
void Program::sweep(Costs& costs, LoopSet dims) const {
  for (int d = 0; d < kLoops; ++d) {
    const std::int64_t stride = grid_.stride(d), count = std::ssize(grid_.classes(d));
    if (!has(dims, static_cast<LoopId>(d)) || count == 1) continue;
    if (!traced_) {
      lower_by_rows(costs.cost, stride, count);
      continue;
    }
    for (std::int64_t block = 0; block < grid_.states(); block += stride * count) {
      for (std::int64_t to = block + stride; to < block + stride * count; to += stride) {
        lower(costs, to, costs, to - stride, stride);
      }
    }
  }
}

}  // namespace gym::relaxed
