#include "timer.hpp"

#include <algorithm>

#include "../integers.hpp"

namespace gym::exact {

namespace {

constexpr LoopSet kAllLoops = (LoopSet{1} << kLoops) - 1;

// Work of the busiest unit in every step along one loop, summed over the steps of a box; one unit
// with a whole tile is as slow as many.
std::int64_t busiest(const Variant& loop, bool spatial) {
  if (!spatial) return loop.extent;
  const Cut& cut = loop.cut;
  return (cut.steps - 1) * cut.tile + (cut.active[1] > 1 ? cut.tile : cut.tail);
}

}  // namespace

// Goes through every kind of step of a box once, with how often it occurs (E4.5).
template <bool top>
class Timer::Walk {
 public:
  Walk(const Timer& timer, const Frame& frame, Profile* profile)
      : timer_(timer), box_(frame.box), compute_(frame.compute), profile_(profile) {}

  std::int64_t run() {
    fill_and_drain();
    if (box_.movers() == 0) {
      step<true, true>(1, box_.last(), 0, 0);
      return cycles_;
    }
    const Box::Mover& inner = box_.innermost();
    after_first_ = inner.steps == 2 ? inner.bit : 0;
    for (State to = 0; to <= box_.last(); ++to) fetched_[to] = box_.fetched(inner, to);
    step<true, false>(1, 0, fetched_[after_first_], 0);
    step<false, true>(1, box_.last(), 0, box_.leaving(inner, box_.last() & ~inner.bit));
    times_[0] = 1;
    State outside = 1;  // states of the loops outside the mover
    for (int m = 0; m + 1 < box_.movers(); ++m) outside = outer_moves(box_.mover(m), outside);
    inner_moves(inner, outside);
    return cycles_;
  }

 private:
  // The exposed first fill and last drain.
  void fill_and_drain() {
    const TileWords fill = box_.words(0);
    const std::int64_t drain = box_.words(box_.last()).output;
    const std::int64_t fill_time = timer_.noc(fill.fetched());
    const std::int64_t drain_time = timer_.noc(drain);
    cycles_ = fill_time + drain_time;
    if constexpr (top) {
      profile_->ingress.add(fill_time, 1);
      profile_->egress.add(drain_time, 1);
      profile_->first_in = fill.fetched();
      profile_->last_out = drain;
      profile_->array_tile = fill;
    }
  }

  // All moves of a loop: the last step before each, and the first one after. The last move ends at
  // the mover's last tile, which differs if it is ragged. Returns the states with this loop's.
  State outer_moves(const Box::Mover& mover, State outside) {
    const std::int64_t whole = mover.steps - 1 - (mover.bit != 0 ? 1 : 0);
    for (State state = 0; state < outside; ++state) {
      if (whole != 0) outer_move(mover, times_[state] * whole, state, 0);
      if (mover.bit != 0) outer_move(mover, times_[state], state, mover.bit);
    }
    return pass(mover, outside);
  }

  void outer_move(const Box::Mover& mover, std::int64_t times, State from, State to_bit) {
    const Box::Mover& inner = box_.innermost();
    const State end = from | mover.inside;
    const State begin = from | to_bit;
    step(times, end, box_.fetched(mover, begin), box_.leaving(inner, end & ~inner.bit));
    step(times, begin, fetched_[begin | after_first_], box_.leaving(mover, end));
  }

  // How often each state of the loops outside the next mover occurs.
  State pass(const Box::Mover& mover, State outside) {
    const std::int64_t before = mover.steps - (mover.bit != 0 ? 1 : 0);
    for (State state = 0; state < outside; ++state) {
      if (mover.bit != 0) times_[state | mover.bit] = times_[state];
      times_[state] *= before;
    }
    return mover.bit != 0 ? 2 * outside : outside;
  }

  // Steps between two moves of the innermost loop; its first move is told with the step before it.
  void inner_moves(const Box::Mover& inner, State outside) {
    const std::int64_t moves = inner.steps - 2;
    if (moves == 0) return;
    const std::int64_t whole = moves - (inner.bit != 0 ? 1 : 0);
    for (State state = 0; state < outside; ++state) {
      const std::int64_t out = box_.leaving(inner, state);
      if (whole != 0) step(times_[state] * whole, state, fetched_[state], out);
      if (inner.bit != 0) step(times_[state], state, fetched_[state | inner.bit], out);
    }
  }

  // While a step computes, the next one's words come in and those done with go out (E3.4). Before
  // the first step nothing goes out, after the last one nothing comes in.
  template <bool first = false, bool last = false>
  void step(std::int64_t times, State current, std::int64_t in, std::int64_t out) {
    const std::int64_t compute = compute_[current];
    const std::int64_t in_time = timer_.noc(in);
    const std::int64_t out_time = timer_.noc(out);
    cycles_ += times * std::max({compute, in_time, out_time});
    if constexpr (top) {
      profile_->compute.add(compute, times);
      profile_->steps += times;
      if constexpr (!last) profile_->ingress.add(in_time, times);
      if constexpr (!first) profile_->egress.add(out_time, times);
      const std::int64_t words = std::max(in, out);
      // Divided only where it could be a new maximum.
      if (words > profile_->peak_bw * compute) profile_->peak_bw = ceil_div(words, compute);
    }
  }

  const Timer& timer_;
  const Box& box_;
  const ByState& compute_;
  Profile* profile_;
  std::int64_t cycles_ = 0;
  State after_first_ = 0;  // bit of the innermost loop if its first advance is its last
  ByState fetched_;        // as the innermost loop moves, by the state it moves to
  ByState times_;          // of states of the loops outside the mover
};

Timer::Timer(const LoopNest& nest, const Hardware& hardware, const Partition& partition)
    : nest_(nest),
      hardware_(hardware),
      partition_(partition),
      loops_(real_loops(nest)),
      frame_{Frame(nest), Frame(nest), Frame(nest), Frame(nest)} {}

std::int64_t Timer::run(const Tiling& tiling, Profile& profile) {
  tiling_ = &tiling;
  for (int j = 0; j < tiling.levels; ++j) memo_[j].clear();
  pes_never_wait_ = tiling.levels > 1 && pes_never_wait();
  profile = Profile{};
  return evaluate<true>(0, BoxKey{}, &profile);
}

template <bool top>
std::int64_t Timer::evaluate(int j, const BoxKey& key, Profile* profile) {
  Frame& frame = frame_[j];
  frame.box.open(partition_, j, tiling_->level[j], key);
  time_units(j);
  return Walk<top>(*this, frame, profile).run();
}

std::int64_t Timer::noc(std::int64_t words) const {
  if (words == 0) return 0;
  if (words <= hardware_.noc_bw) return hardware_.noc_latency;
  return hardware_.noc_latency + ceil_div(words, hardware_.noc_bw) - 1;
}

// Whether the innermost network serves PEs of one MAC a cycle in a single go within their shortest
// step. All steps of all its boxes then take just as long as they compute.
bool Timer::pes_never_wait() const {
  if (hardware_.simd_lanes > 1) return false;
  Extents largest;
  largest.fill(1);
  std::int64_t fewest_macs = 1;
  for (const LoopId id : loops_) {
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (const Variant& each : partition_.of(tiling_->levels - 1, id)) {
      const Cut& cut = each.cut;
      largest[id] = std::max(largest[id], cut.array[cut.steps > 1 ? 0 : 1]);
      shortest = std::min(shortest, cut.tail);
    }
    fewest_macs *= shortest;
  }
  const TileWords words = tile_words(nest_, largest);
  return words.fetched() <= hardware_.noc_bw && words.output <= hardware_.noc_bw &&
         hardware_.noc_latency <= fewest_macs;
}

// E4.4: units differ in the spatial loop only.
void Timer::time_units(int j) {
  Frame& frame = frame_[j];
  if (innermost(j)) {
    time_pes(tiling_->level[j], frame);
  } else if (innermost(j + 1) && pes_never_wait_) {
    time_clusters_that_never_wait(j);
  } else {
    for (int state = 0; state < frame.box.states(); ++state) {
      frame.compute[state] = slowest_cluster(j, state);
    }
  }
}

void Timer::time_pes(const TiledLevel& level, Frame& frame) const {
  const Box& box = frame.box;
  box.fill(frame.compute, kAllLoops, [&](LoopId id) -> std::array<std::int64_t, 2> {
    const Cut& cut = box.loop(id).cut;
    const bool whole = id == level.spatial && cut.active[1] > 1;
    return {cut.tile, whole ? cut.tile : cut.tail};
  });
  if (hardware_.simd_lanes == 1) return;
  for (int state = 0; state < box.states(); ++state) {
    frame.compute[state] = ceil_div(frame.compute[state], hardware_.simd_lanes);
  }
}

void Timer::time_clusters_that_never_wait(int j) {
  Frame& frame = frame_[j];
  const Box& box = frame.box;
  const LoopId dealt = tiling_->level[j].spatial;
  const LoopId spatial = tiling_->level[j + 1].spatial;
  box.fill(frame.compute, kAllLoops, [&](LoopId id) -> std::array<std::int64_t, 2> {
    const Variant& loop = box.loop(id);
    const Variants& chunks = partition_.of(j + 1, id);
    const std::int64_t whole = busiest(chunks[loop.chunk[0]], id == spatial);
    const std::int64_t tail = busiest(chunks[loop.chunk[1]], id == spatial);
    const bool several = id == dealt && loop.cut.active[1] > 1;
    return {whole, several ? std::max(whole, tail) : tail};
  });
  for (int state = 0; state < box.states(); ++state) {
    frame.compute[state] += 2 * hardware_.noc_latency;
  }
}

std::int64_t Timer::slowest_cluster(int j, State state) {
  const Box& box = frame_[j].box;
  const LoopId dealt = tiling_->level[j].spatial;
  BoxKey key{};
  for (const LoopId id : loops_) key[id] = box.loop(id).chunk[box.at_last(state, id) ? 1 : 0];
  const std::int64_t time = cluster_time(j + 1, key);
  const Variant& loop = box.loop(dealt);
  if (!box.at_last(state, dealt) || loop.cut.active[1] == 1 || loop.chunk[0] == loop.chunk[1]) {
    return time;
  }
  key[dealt] = loop.chunk[0];
  return std::max(time, cluster_time(j + 1, key));
}

std::int64_t Timer::cluster_time(int j, const BoxKey& key) {
  for (const Memo& each : memo_[j]) {
    if (each.key == key) return each.cycles;
  }
  const std::int64_t cycles = evaluate<false>(j, key, nullptr);
  memo_[j].push_back({key, cycles});
  return cycles;
}

}  // namespace gym::exact
