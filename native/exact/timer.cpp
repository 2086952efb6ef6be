#include "timer.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "../core/integers.hpp"

namespace gym::exact {

namespace {

// The tile of the busiest unit at the last position.
std::int64_t last_tile(const Cut& cut, bool spatial) {
  return spatial ? cut.last_tile() : cut.tail;
}

// Goes through every kind of step of a box once, with how often it occurs (E4.5).
template <bool top>
class Walk {
 public:
  Walk(const Network& network, const Box& box, BoxTables& tables)
      : network_(network), box_(box), tables_(tables) {}

  std::int64_t run(Profile& profile) {
    fill_and_drain();
    if (box_.movers() == 0) {
      step<true, true>(1, box_.last(), 0, 0);
    } else {
      steps();
    }
    if constexpr (top) profile = profile_;
    return cycles_;
  }

 private:
  // The exposed first fill and last drain.
  void fill_and_drain() {
    const TileWords fill = box_.words(0);
    const std::int64_t drain = box_.words(box_.last()).output;
    const std::int64_t fill_time = network_.cycles(fill.fetched());
    const std::int64_t drain_time = network_.cycles(drain);
    cycles_ = fill_time + drain_time;
    if constexpr (top) {
      profile_.ingress = Span::of(fill_time, 1);
      profile_.egress = Span::of(drain_time, 1);
      profile_.compute = Span::of(tables_.compute[0], 0);
      profile_.first_in = fill.fetched();
      profile_.last_out = drain;
      profile_.array_tile = fill;
    }
  }

  void steps() {
    const Box::Mover& inner = box_.innermost();
    // Its first advance is told with the step before, and may be its last.
    const State after_first = inner.steps == 2 ? inner.bit : 0;
    const bool inner_leaves = box_.sends(inner);
    for (State to = 0; to < box_.states(); ++to) tables_.fetched[to] = box_.fetched(inner, to);
    step<true, false>(1, 0, tables_.fetched[after_first], 0);
    step<false, true>(1, box_.last(), 0, inner_leaves ? box_.output(box_.last() & ~inner.bit) : 0);
    tables_.times[0] = 1;
    State outside = 1;  // states of the loops outside the mover
    for (int m = 0; m + 1 < box_.movers(); ++m) {
      const Box::Mover& mover = box_.mover(m);
      const bool leaves = box_.sends(mover);
      // All moves of a loop: the last step before each, and the first one after.
      for_each_move(mover, mover.steps - 1, outside, [&](std::int64_t times, State from, State to) {
        const State end = from | mover.inside;
        step(times, end, box_.fetched(mover, to), inner_leaves ? box_.output(end & ~inner.bit) : 0);
        step(times, to, tables_.fetched[to | after_first], leaves ? box_.output(end) : 0);
      });
      outside = pass(mover, outside);
    }
    // Steps between two moves of the innermost loop.
    for_each_move(inner, inner.steps - 2, outside, [&](std::int64_t times, State from, State to) {
      step(times, from, tables_.fetched[to], inner_leaves ? box_.output(from) : 0);
    });
  }

  // Of so many moves the last one ends at the mover's last tile, which differs if it is ragged.
  template <typename Visit>
  void for_each_move(const Box::Mover& mover, std::int64_t moves, State outside, Visit visit) {
    if (moves == 0) return;
    const std::int64_t whole = moves - (mover.bit != 0 ? 1 : 0);
    for (State state = 0; state < outside; ++state) {
      if (whole != 0) visit(tables_.times[state] * whole, state, state);
      if (mover.bit != 0) visit(tables_.times[state], state, state | mover.bit);
    }
  }

  // Returns the states of the loops outside the next mover, and tells how often each occurs.
  State pass(const Box::Mover& mover, State outside) {
    const std::int64_t before = mover.steps - (mover.bit != 0 ? 1 : 0);
    for (State state = 0; state < outside; ++state) {
      tables_.times[state | mover.bit] = tables_.times[state];
      tables_.times[state] *= before;
    }
    return mover.bit != 0 ? 2 * outside : outside;
  }

  // While a step computes, the next one's words come in and those done with go out (E3.4). Before
  // the first step nothing goes out, after the last one nothing comes in.
  template <bool first = false, bool last = false>
  void step(std::int64_t times, State current, std::int64_t in, std::int64_t out) {
    const std::int64_t compute = tables_.compute[current];
    const std::int64_t in_time = network_.cycles(in);
    const std::int64_t out_time = network_.cycles(out);
    cycles_ += times * std::max({compute, in_time, out_time});
    if constexpr (top) {
      profile_.compute.add(compute, times);
      profile_.steps += times;
      if constexpr (!last) profile_.ingress.add(in_time, times);
      if constexpr (!first) profile_.egress.add(out_time, times);
      const std::int64_t words = std::max(in, out);
      // Divided only where it could be a new maximum. The product may exceed 64 bits.
      if (words > static_cast<__int128>(profile_.peak_bw) * compute) {
        profile_.peak_bw = ceil_div(words, compute);
      }
    }
  }

  const Network network_;
  const Box& box_;
  BoxTables& tables_;
  Profile profile_{};
  std::int64_t cycles_ = 0;
};

}  // namespace

bool never_queues(const LoopNest& nest, const Hardware& hardware) {
  // Words of absurd layers, which are refused later, have sums beyond 64 bits.
  return real(nest.words(kInput)) + real(nest.words(kFilter)) <= hardware.noc_bw &&
         nest.words(kOutput) <= hardware.noc_bw;
}

Timer::Timer(const LoopNest& nest, const Hardware& hardware, const Partition& partition)
    : nest_(nest),
      network_{hardware.noc_bw, hardware.noc_latency},
      simd_lanes_(hardware.simd_lanes),
      partition_(partition),
      loops_(real_loops(nest)),
      never_queues_(never_queues(nest, hardware)),
      always_served_(hardware.simd_lanes == 1 && hardware.noc_latency <= 1 && never_queues_),
      frame_{Frame(nest), Frame(nest), Frame(nest), Frame(nest)} {}

std::int64_t Timer::run(const Tiling& tiling, Detail detail, Profile& profile) {
  tiling_ = &tiling;
  for (int j = 0; j < tiling.levels; ++j) memo_[j].clear();
  pes_never_wait_ = tiling.levels > 1 && pes_never_wait();
  if (detail == Detail::rows) return evaluate<true>(0, BoxKey{}, profile);
  if (pes_never_wait_ && never_queues_ && tiling.levels == 2) return compute_all(profile);
  return cost(profile);
}

// Cycles and ends of the profile. If words come as fast as the fastest step, none need be counted.
std::int64_t Timer::cost(Profile& profile) {
  auto& [box, tables] = frame_[0];
  box.open(partition_, 0, tiling_->level[0], BoxKey{});
  time_units(0);
  profile.array_tile = box.words(0);
  profile.first_in = profile.array_tile.fetched();
  profile.last_out = box.output(box.last());
  const std::int64_t fill = network_.cycles(profile.first_in);
  const std::int64_t longest = std::max(fill, network_.cycles(profile.array_tile.output));
  const std::span<const std::int64_t> compute(tables.compute.data(), box.states());
  if (longest > *std::min_element(compute.begin(), compute.end())) {
    box.measure_kept();
    return Walk<false>(network_, box, tables).run(profile);
  }
  box.fill(tables.times, [&box = box](LoopId id) -> std::array<std::int64_t, 2> {
    const std::int64_t steps = box.loop(id).cut.steps;
    return {steps - 1, box.at_last(0, id) ? steps : 1};
  });
  const std::int64_t ends = fill + network_.cycles(profile.last_out);
  return std::inner_product(compute.begin(), compute.end(), tables.times.begin(), ends);
}

// Where no step waits for words, the steps of a cluster and those of all are sums along each loop.
std::int64_t Timer::compute_all(Profile& profile) const {
  Extents first = nest_.extent, last = nest_.extent;
  std::int64_t cycles = 1, steps = 1;
  for (const LoopId id : loops_) {
    const Variant& loop = partition_.of(0, id)[0];
    const Cut& cut = loop.cut;
    const auto [before, there] = busy_cycles(0, id, loop);
    cycles *= (cut.steps - 1) * before + there;
    steps *= cut.steps;
    first[id] = cut.largest_array();
    last[id] = cut.array[1];
  }
  profile.array_tile = tile_words(nest_, first);
  profile.first_in = profile.array_tile.fetched();
  profile.last_out = tile_words(nest_, last).output;
  // Filled and drained: every cluster in every step, and all of them once.
  return cycles + 2 * network_.latency * (steps + 1);
}

template <bool top>
std::int64_t Timer::evaluate(int j, const BoxKey& key, Profile& profile) {
  Frame& frame = frame_[j];
  frame.box.open(partition_, j, tiling_->level[j], key);
  frame.box.measure_kept();
  time_units(j);
  return Walk<top>(network_, frame.box, frame.tables).run(profile);
}

// Whether the innermost network serves PEs of one MAC a cycle in a single go within their shortest
// step. All steps of all its boxes then take just as long as they compute.
bool Timer::pes_never_wait() const {
  if (always_served_) return true;
  if (simd_lanes_ > 1) return false;
  Extents largest;
  largest.fill(1);
  std::int64_t fewest_macs = 1;
  for (const LoopId id : loops_) {
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (const Variant& each : partition_.of(tiling_->levels - 1, id)) {
      const Cut& cut = each.cut;
      largest[id] = std::max(largest[id], cut.largest_array());
      shortest = std::min(shortest, cut.tail);
    }
    fewest_macs *= shortest;
  }
  return tile_words(nest_, largest).pass(network_.bw) && network_.latency <= fewest_macs;
}

bool Timer::may_never_wait(const Tiling& tiling) const {
  if (always_served_) return true;
  const TiledLevel& last = tiling.level[1];
  Extents largest = last.extent;
  std::int64_t& dealt = largest[last.spatial];
  dealt = std::min(last.units * dealt, tiling.level[0].extent[last.spatial]);
  return tile_words(nest_, largest).pass(network_.bw);
}

// E4.4: units differ in the spatial loop only.
void Timer::time_units(int j) {
  Frame& frame = frame_[j];
  if (innermost(j)) {
    time_pes(tiling_->level[j], frame);
  } else if (innermost(j + 1) && pes_never_wait_) {
    time_clusters_that_never_wait(j);
  } else {
    for (State state = 0; state < frame.box.states(); ++state) {
      frame.tables.compute[state] = slowest_cluster(j, state);
    }
  }
}

void Timer::time_pes(const TiledLevel& level, Frame& frame) const {
  const Box& box = frame.box;
  box.fill(frame.tables.compute, [&](LoopId id) -> std::array<std::int64_t, 2> {
    const Cut& cut = box.loop(id).cut;
    return {cut.tile, last_tile(cut, id == level.spatial)};
  });
  if (simd_lanes_ == 1) return;
  for (State state = 0; state < box.states(); ++state) {
    frame.tables.compute[state] = ceil_div(frame.tables.compute[state], simd_lanes_);
  }
}

void Timer::time_clusters_that_never_wait(int j) {
  Frame& frame = frame_[j];
  const Box& box = frame.box;
  box.fill(frame.tables.compute, [&](LoopId id) { return busy_cycles(j, id, box.loop(id)); });
  for (State state = 0; state < box.states(); ++state) {
    frame.tables.compute[state] += 2 * network_.latency;
  }
}

// What a loop contributes to the time of the slowest cluster, before its last position and there.
std::array<std::int64_t, 2> Timer::busy_cycles(int j, LoopId id, const Variant& loop) const {
  const Variants chunks = partition_.of(j + 1, id);
  const bool spatial = id == tiling_->level[j + 1].spatial;
  const std::int64_t whole = chunks[loop.chunk[0]].busiest(spatial);
  const std::int64_t tail = chunks[loop.chunk[1]].busiest(spatial);
  const bool several = id == tiling_->level[j].spatial && loop.cut.active[1] > 1;
  return {whole, several ? std::max(whole, tail) : tail};
}

std::int64_t Timer::slowest_cluster(int j, State state) {
  const Box& box = frame_[j].box;
  const LoopId dealt = tiling_->level[j].spatial;
  BoxKey key;
  for (const LoopId id : loops_) key.set(id, box.loop(id).chunk[box.at_last(state, id) ? 1 : 0]);
  const std::int64_t time = cluster_time(j + 1, key);
  const Variant& loop = box.loop(dealt);
  if (!box.at_last(state, dealt) || loop.cut.active[1] == 1 || loop.chunk[0] == loop.chunk[1]) {
    return time;
  }
  key.set(dealt, loop.chunk[0]);
  return std::max(time, cluster_time(j + 1, key));
}

std::int64_t Timer::cluster_time(int j, const BoxKey& key) {
  for (const Memo& each : memo_[j]) {
    if (each.key == key) return each.cycles;
  }
  Profile none{};
  const auto undisturbed = innermost(j) ? undisturbed_time(key) : std::nullopt;
  const std::int64_t cycles = undisturbed ? *undisturbed : evaluate<false>(j, key, none);
  memo_[j].push_back({key, cycles});
  return cycles;
}

// The time of PEs whose shortest step takes as long as the words of the largest one.
std::optional<std::int64_t> Timer::undisturbed_time(const BoxKey& key) const {
  if (simd_lanes_ > 1) return std::nullopt;
  const int j = tiling_->levels - 1;
  const LoopId spatial = tiling_->level[j].spatial;
  Extents first = nest_.extent;
  std::int64_t all = 1, shortest = 1, drained = 1;
  for (const LoopId id : loops_) {
    const Variant& loop = partition_.of(j, id)[key.of(id)];
    const Cut& cut = loop.cut;
    first[id] = cut.largest_array();
    all *= loop.busiest(id == spatial);
    shortest *= last_tile(cut, id == spatial);
    drained *= has(kOutputLoops, id) ? cut.array[1] : 1;
  }
  const TileWords words = tile_words(nest_, first);
  const std::int64_t fill = network_.cycles(words.fetched());
  if (std::max(fill, network_.cycles(words.output)) > shortest) return std::nullopt;
  return fill + all + network_.cycles(drained);
}

}  // namespace gym::exact
