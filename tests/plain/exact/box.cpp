#include "box.hpp"

#include <algorithm>

#include "../integers.hpp"

namespace gym::exact {

namespace {

// Calls visit(subset) for every subset of `set`.
template <typename Visit>
void for_each_subset(State set, Visit visit) {
  State subset = set;
  while (true) {
    visit(subset);
    if (subset == 0) return;
    subset = (subset - 1) & set;
  }
}

}  // namespace

// Goes through every kind of step of a box once, with how often it occurs (E4.5).
template <bool top>
class BoxTimer::Walk {
 public:
  Walk(BoxTimer& boxes, int j, Profile* profile)
      : boxes_(boxes), array_(boxes.frame_[j].array), j_(j), profile_(profile) {}

  std::int64_t run() {
    fill_and_drain();
    const int movers = array_.movers();
    if (movers == 0) {
      step<true, true>(1, kAllLoops, 0, 0);
      return cycles_;
    }
    const State inner_bit = bit_of(array_.mover(movers - 1));
    const State first = array_.first();
    step<true, false>(1, first, array_.fetched_inside(first, after_first(first)), 0);
    step<false, true>(1, kAllLoops, 0, array_.leaving(movers - 1, kAllLoops & ~inner_bit));
    State outside = 0;
    for (int m = 0; m < movers; ++m) {
      move(m, outside);
      if (array_.ragged(array_.mover(m))) outside |= bit_of(array_.mover(m));
    }
    return cycles_;
  }

 private:
  // The exposed first fill and last drain.
  void fill_and_drain() {
    const TileWords& fill = array_.words(array_.first());
    const std::int64_t drain = array_.words(kAllLoops).output;
    const std::int64_t fill_time = boxes_.noc(fill.fetched());
    const std::int64_t drain_time = boxes_.noc(drain);
    cycles_ = fill_time + drain_time;
    if constexpr (top) {
      profile_->ingress.add(fill_time, 1);
      profile_->egress.add(drain_time, 1);
      profile_->first_in = fill.fetched();
      profile_->last_out = drain;
      profile_->array_tile = fill;
    }
  }

  // The state after the innermost loop's first advance from `state`.
  State after_first(State state) const {
    const LoopId inner = array_.mover(array_.movers() - 1);
    return array_.cut(inner).steps == 2 ? state | bit_of(inner) : state;
  }

  // All moves of loop m; `outside`: ragged loops outside it, which may stand at their last
  // position.
  void move(int m, State outside) {
    const bool innermost = m == array_.movers() - 1;
    const LoopId mover = array_.mover(m);
    // The innermost loop's first move is told with the step before it.
    const std::int64_t moves = array_.cut(mover).steps - 1 - (innermost ? 1 : 0);
    if (moves == 0) return;
    // The last of them ends at the mover's last tile, which differs if it is ragged.
    const std::int64_t lasts = array_.ragged(mover) ? 1 : 0;
    for_each_subset(outside, [&](State subset) {
      std::int64_t times = 1;
      for (int o = 0; o < m; ++o) {
        const LoopId id = array_.mover(o);
        if (at(subset, id) == 0) times *= array_.cut(id).steps - at(outside, id);
      }
      const State from = array_.first() | subset;
      for (const State to_bit : {State{0}, bit_of(mover)}) {
        const std::int64_t count = to_bit == 0 ? moves - lasts : lasts;
        if (count == 0) continue;
        if (innermost) {
          inner_step(times * count, from, from | to_bit);
        } else {
          outer_move(m, times * count, from, to_bit);
        }
      }
    });
  }

  // A step between two moves of the innermost loop.
  void inner_step(std::int64_t times, State from, State to) {
    step(times, from, array_.fetched_inside(from, to), array_.leaving(array_.movers() - 1, from));
  }

  // The last step before loop m moves, and the first one after.
  void outer_move(int m, std::int64_t times, State from, State to_bit) {
    const int inner = array_.movers() - 1;
    const State end = from | array_.changed(m + 1);
    const State begin = from | to_bit;
    step(times, end, array_.fetched(m, end, begin),
         array_.leaving(inner, end & ~bit_of(array_.mover(inner))));
    step(times, begin, array_.fetched_inside(begin, after_first(begin)), array_.leaving(m, end));
  }

  // While a step computes, the next one's words come in and those done with go out (E3.4). Before
  // the first step nothing goes out, after the last one nothing comes in.
  template <bool first = false, bool last = false>
  void step(std::int64_t times, State current, std::int64_t in, std::int64_t out) {
    const std::int64_t compute = boxes_.step_time(j_, current);
    const std::int64_t in_time = boxes_.noc(in);
    const std::int64_t out_time = boxes_.noc(out);
    cycles_ += times * std::max({compute, in_time, out_time});
    if constexpr (top) {
      profile_->compute.add(compute, times);
      profile_->steps += times;
      if constexpr (!last) profile_->ingress.add(in_time, times);
      if constexpr (!first) profile_->egress.add(out_time, times);
      const std::int64_t words = std::max(in, out);
      profile_->peak_bw = std::max(profile_->peak_bw, ceil_div(words, compute));
    }
  }

  BoxTimer& boxes_;
  UnitArray& array_;
  const int j_;
  Profile* profile_;
  std::int64_t cycles_ = 0;
};

std::int64_t BoxTimer::run(const Tiling& tiling, Profile& profile) {
  tiling_ = &tiling;
  for (int j = 0; j < tiling.levels; ++j) memo_[j].clear();
  profile = Profile{};
  frame_[0].array.prepare(tiling.level[0], nest_, loops_, {nest_.extent, nest_.extent});
  return evaluate<true>(0, 0, &profile);
}

template <bool top>
std::int64_t BoxTimer::evaluate(int j, State tails, Profile* profile) {
  Frame& frame = frame_[j];
  frame.array.set_up(tails);
  frame.timed.reset();
  if (j + 1 < tiling_->levels) {
    frame.known.reset();
    std::array<Extents, 2> extent;
    for (int d = 0; d < kLoops; ++d) {
      const Cut& cut = frame.array.cut(static_cast<LoopId>(d));
      extent[0][d] = cut.tile;
      extent[1][d] = cut.tail;
    }
    frame_[j + 1].array.prepare(tiling_->level[j + 1], nest_, loops_, extent);
    frame.units_never_wait = never_waits(j + 1);
  }
  return Walk<top>(*this, j, profile).run();
}

std::int64_t BoxTimer::noc(std::int64_t words) const {
  if (words == 0) return 0;
  if (words <= hardware_.noc_bw) return hardware_.noc_latency;
  return hardware_.noc_latency + ceil_div(words, hardware_.noc_bw) - 1;
}

// Whether the network serves PEs of one MAC a cycle in a single go within their shortest step. All
// steps of all boxes prepared for then take just as long as they compute.
bool BoxTimer::never_waits(int j) const {
  if (j + 1 < tiling_->levels || hardware_.simd_lanes > 1) return false;
  const UnitArray& array = frame_[j].array;
  return array.largest().fetched() <= hardware_.noc_bw &&
         array.largest().output <= hardware_.noc_bw && hardware_.noc_latency <= array.fewest_macs();
}

// E4.4: units differ in the spatial loop only.
std::int64_t BoxTimer::slowest_unit(int j, State state) {
  const UnitArray& array = frame_[j].array;
  const State tails = state & array.tailed();
  const LoopId spatial = array.spatial();
  const std::int64_t time = unit_time(j, tails);
  if (at(tails, spatial) == 0 || array.cut(spatial).active[1] == 1) return time;
  return std::max(time, unit_time(j, tails & ~bit_of(spatial)));
}

std::int64_t BoxTimer::unit_time(int j, State tails) {
  if (j + 1 < tiling_->levels) return sub_box(j, tails);
  const std::int64_t macs = frame_[j].array.unit_macs(tails);
  return hardware_.simd_lanes == 1 ? macs : ceil_div(macs, hardware_.simd_lanes);
}

// Cycles of the box of a unit whose loops in `tails` stand at their smaller last chunk.
std::int64_t BoxTimer::sub_box(int j, State tails) {
  Frame& frame = frame_[j];
  std::int64_t& cycles = frame.cycles[tails];
  if (frame.known[tails]) return cycles;
  frame.known[tails] = true;
  if (frame.units_never_wait) {
    return cycles = 2 * hardware_.noc_latency + frame_[j + 1].array.busiest_macs(tails);
  }
  // The boxes of the layer's one top box all differ; deeper ones recur.
  if (j == 0) return cycles = evaluate<false>(j + 1, tails, nullptr);
  Extents extent;
  for (int d = 0; d < kLoops; ++d) {
    const Cut& cut = frame.array.cut(static_cast<LoopId>(d));
    extent[d] = (tails >> d & 1) != 0 ? cut.tail : cut.tile;
  }
  for (const Memo& each : memo_[j + 1]) {
    if (each.extent == extent) return cycles = each.cycles;
  }
  cycles = evaluate<false>(j + 1, tails, nullptr);
  memo_[j + 1].push_back({extent, cycles});
  return cycles;
}

}  // namespace gym::exact
