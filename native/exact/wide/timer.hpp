// Cycles of the top level and the profile of its steps, of several mappings: see ../timer.hpp. PEs
// never wait, so that the time of a cluster is a product over loops.
#pragma once

#include "cuts.hpp"

namespace gym::exact::wide {
namespace {

inline constexpr int kStates = 1 << kMaxLoops;
using Table = std::array<Wide, kStates>;

// Whether a network serves PEs of one MAC a cycle in a single go within their shortest step.
GYM_INLINE WideFlag pes_never_wait(const Problem& problem, const WidePartition& partition) {
  std::array<Wide, kMaxLoops> largest;
  Wide fewest_macs = number<Wide>(problem.window);
  for (int d = 0; d < problem.loops; ++d) {
    const auto& [whole, last] = partition.below[d].variant;
    largest[d] = most(whole.cut.largest_array(), last.cut.largest_array());
    fewest_macs *= least(whole.cut.tail, last.cut.tail);
  }
  return tile_words(problem, largest).pass(number<Wide>(problem.hardware.noc_bw)) &
         (number<Wide>(problem.hardware.noc_latency) <= fewest_macs);
}

// A loop in the top level, by its place among those that move. Loops of one step come before them,
// where they change nothing: they always stand at their last position.
struct Mover {
  Wide steps;
  // What it contributes before its last position (0) and there (1).
  std::array<Wide, 2> compute;
  std::array<BasicTileWords<Wide>, 2> words;
  // What stays of the input as it advances, and as it goes back.
  Wide advance, back;
  // 1 if the tensor has it, else 0.
  Wide in_filter, in_output;
};

class Movers {
 public:
  GYM_INLINE Movers(const Problem& problem, const WidePartition& partition)
      : count_(problem.loops) {
    std::array<Wide, kMaxLoops> key;
    for (int d = 0; d < count_; ++d) {
      mover_[d] = mover(problem, d, partition.top[d], partition.below[d]);
      const Wide moves = number<Wide>(kMaxLoops);
      key[d] = partition.top[d].place + select(mover_[d].steps > 1, moves, Wide{});
    }
    sort(key, count_, mover_);
  }

  int count() const { return count_; }
  GYM_INLINE const Mover& operator[](int m) const { return mover_[m]; }

 private:
  GYM_INLINE static Mover mover(const Problem& problem, int d, const WideLevelLoop& top,
                                const WideLevelLoop& below) {
    const Loop& loop = problem.loop[d];
    const BasicCut<Wide>& cut = top.variant[0].cut;
    const WideFlag moves = cut.moves();
    const Wide whole = below.variant[0].busiest(below.spatial);
    const Wide tail = below.variant[1].busiest(below.spatial);
    const WideFlag several = top.spatial & (cut.active[1] > 1);
    const Wide one = number<Wide>(1);
    Mover mover;
    mover.steps = cut.steps;
    mover.compute[1] = select(several, most(whole, tail), tail);
    mover.compute[0] = select(moves, whole, mover.compute[1]);
    mover.words[1] = words_along(loop, cut.array[1]);
    mover.words[0] = words_along(loop, cut.largest_array());
    mover.in_filter = loop.in_filter ? one : Wide{};
    mover.in_output = loop.in_output ? one : Wide{};
    if (loop.axis != nullptr) {
      mover.advance = number<Wide>(loop.axis->halo);
      mover.back = left(*loop.axis, cut.advance, (cut.steps - 1) * cut.advance);
    } else {
      mover.advance = mover.back = loop.id == kLoopK ? one : Wide{};
    }
    return mover;
  }

  const int count_;
  std::array<Mover, kMaxLoops> mover_;
};

GYM_INLINE Wide cycles_of(const Problem& problem, Wide words) {
  const Wide latency = number<Wide>(problem.hardware.noc_latency);
  if (problem.never_queues) return latency;
  return latency + floor_div(words - 1, number<Wide>(problem.hardware.noc_bw));
}

// Cycles and ends of the profile, right where words come as fast as the fastest step: see
// Timer::cost.
GYM_INLINE WideFlag compute_all(const Problem& problem, const Movers& movers,
                                BasicReport<Wide>& report) {
  const Wide one = number<Wide>(1);
  BasicTileWords<Wide> first = whole_words(problem);
  Wide cycles = number<Wide>(problem.window), fewest = cycles, steps = one, last = one;
  for (int m = 0; m < movers.count(); ++m) {
    const Mover& mover = movers[m];
    cycles *= (mover.steps - 1) * mover.compute[0] + mover.compute[1];
    fewest *= least(mover.compute[0], mover.compute[1]);
    steps *= mover.steps;
    first.input *= mover.words[0].input;
    first.filter *= mover.words[0].filter;
    first.output *= mover.words[0].output;
    last *= mover.words[1].output;
  }
  report.profile.array_tile = first;
  report.profile.first_in = first.fetched();
  report.profile.last_out = last;
  const Wide passing = number<Wide>(2 * problem.hardware.noc_latency);
  const Wide fill = cycles_of(problem, first.fetched());
  report.onchip_cycles = fill + cycles + passing * steps + cycles_of(problem, last);
  return most(fill, cycles_of(problem, first.output)) <= fewest + passing;
}

// Goes through every kind of step of the top level, with how often it occurs (E4.5). Every loop has
// two states here; those that do not occur, occur 0 times.
class Walk {
 public:
  GYM_INLINE Walk(const Problem& problem, const Movers& movers, bool profiled)
      : profiled_(profiled),
        bw_(number<Wide>(problem.hardware.noc_bw)),
        latency_(number<Wide>(problem.hardware.noc_latency)),
        never_queues_(problem.never_queues),
        movers_(movers),
        inner_(movers.count() - 1),
        inner_bit_(1 << inner_),
        last_(2 * inner_bit_ - 1) {
    tabulate(problem);
    for (int state = 0; state <= last_; ++state) {
      fetched_[state] = fetched(movers_[inner_].in_filter, state, state & (inner_bit_ - 1), inner_,
                                movers_[inner_].advance);
    }
  }

  GYM_INLINE void run(Wide& cycles, BasicProfile<Wide>& profile) {
    fill_and_drain();
    ends();
    times_[0] = number<Wide>(1);
    for (int m = 0; m < inner_; ++m) move(m);
    between();
    cycles = cycles_;
    profile = profile_;
  }

 private:
  GYM_INLINE void tabulate(const Problem& problem) {
    compute_[0] = number<Wide>(problem.window);
    const BasicTileWords<Wide> whole = whole_words(problem);
    input_[0] = whole.input;
    filter_[0] = whole.filter;
    output_[0] = whole.output;
    for (int m = 0, size = 1; m <= inner_; ++m, size *= 2) {
      const Mover& mover = movers_[m];
      for (int state = 0; state < size; ++state) {
        outer_input_[size + state] = input_[state];
        extend(compute_, state, size, mover.compute[0], mover.compute[1]);
        extend(input_, state, size, mover.words[0].input, mover.words[1].input);
        extend(filter_, state, size, mover.words[0].filter, mover.words[1].filter);
        extend(output_, state, size, mover.words[0].output, mover.words[1].output);
      }
    }
    for (int state = 0; state <= last_; ++state) compute_[state] += 2 * latency_;
  }
  GYM_INLINE static void extend(Table& table, int state, int size, Wide before, Wide there) {
    table[state + size] = table[state] * there;
    table[state] *= before;
  }

  // Words that come in as loop m moves and leaves state `to`, and so much of the input along itself
  // and the loops inside it stays.
  GYM_INLINE Wide fetched(Wide filter, int to, int outside, int m, Wide stays) const {
    return filter * filter_[to] + input_[to] - outer_input_[(1 << m) + outside] * stays;
  }

  GYM_INLINE Wide cycles_of(Wide words) const {
    const Wide queue = never_queues_ ? Wide{} : floor_div(most(words - 1, Wide{}), bw_);
    return select(words > 0, latency_ + queue, Wide{});
  }

  GYM_INLINE void fill_and_drain() {
    profile_.array_tile = {input_[0], filter_[0], output_[0]};
    profile_.first_in = profile_.array_tile.fetched();
    profile_.last_out = output_[last_];
    const Wide fill = cycles_of(profile_.first_in);
    const Wide drain = cycles_of(profile_.last_out);
    cycles_ = fill + drain;
    profile_.ingress = BasicSpan<Wide>::of(fill, number<Wide>(1));
    profile_.egress = BasicSpan<Wide>::of(drain, number<Wide>(1));
    profile_.compute = BasicSpan<Wide>::of(compute_[0], Wide{});
  }

  // What comes in at the first move of the innermost loop, told with the step before; it may be its
  // last.
  GYM_INLINE Wide first_move(int state) const {
    return select(movers_[inner_].steps == 2, fetched_[state | inner_bit_], fetched_[state]);
  }
  GYM_INLINE Wide leaving_inside(int state) const {
    return movers_[inner_].in_output * output_[state];
  }

  // The first step and the last one, or the only one.
  GYM_INLINE void ends() {
    const Wide one = number<Wide>(1);
    const Wide moves = select(movers_[inner_].steps > 1, one, Wide{});
    step<true, true>(one - moves, last_, Wide{}, Wide{});
    step<true, false>(moves, 0, first_move(0), Wide{});
    step<false, true>(moves, last_, Wide{}, leaving_inside(last_ & ~inner_bit_));
  }

  // All moves of a loop outside the innermost: the last step before each, and the first one after.
  GYM_INLINE void move(int m) {
    const Mover& mover = movers_[m];
    const int bit = 1 << m;
    const int inside = last_ & ~(2 * bit - 1);
    Wide stays = mover.advance, filter{}, output{};
    for (int i = m; i <= inner_; ++i) {
      if (i > m) stays *= movers_[i].back;
      filter = most(filter, movers_[i].in_filter);
      output = most(output, movers_[i].in_output);
    }
    const Wide whole = most(mover.steps - 2, Wide{});
    const Wide last = select(mover.steps > 1, number<Wide>(1), Wide{});
    for (int state = 0; state < bit; ++state) {
      for (const int to : {state, state | bit}) {
        const int from = state | inside;
        const Wide times = times_[state] * (to == state ? whole : last);
        step<false, false>(times, from, fetched(filter, to, state, m, stays),
                           leaving_inside(from & ~inner_bit_));
        step<false, false>(times, to, first_move(to), output * output_[from]);
      }
    }
    for (int state = 0; state < bit; ++state) {
      times_[state | bit] = times_[state];
      times_[state] *= mover.steps - 1;
    }
  }

  // Steps between two moves of the innermost loop.
  GYM_INLINE void between() {
    const Wide steps = movers_[inner_].steps;
    const Wide whole = most(steps - 3, Wide{});
    const Wide last = select(steps > 2, number<Wide>(1), Wide{});
    for (int state = 0; state < inner_bit_; ++state) {
      const Wide out = leaving_inside(state);
      step<false, false>(times_[state] * whole, state, fetched_[state], out);
      step<false, false>(times_[state] * last, state, fetched_[state | inner_bit_], out);
    }
  }

  template <bool first, bool last>
  GYM_INLINE void step(Wide times, int state, Wide in, Wide out) {
    const Wide compute = compute_[state];
    const Wide in_time = cycles_of(in), out_time = cycles_of(out);
    cycles_ += times * most(compute, most(in_time, out_time));
    if (!profiled_) return;
    profile_.compute.add(compute, times);
    profile_.steps += times;
    if (!last) profile_.ingress.add(in_time, times);
    if (!first) profile_.egress.add(out_time, times);
    const Wide peak = ceil_div(most(in, out), compute);
    profile_.peak_bw = select(times > 0, most(profile_.peak_bw, peak), profile_.peak_bw);
  }

  const bool profiled_;
  const Wide bw_, latency_;
  const bool never_queues_;
  const Movers& movers_;
  const int inner_, inner_bit_, last_;
  BasicProfile<Wide> profile_{};
  Wide cycles_;
  Table compute_, input_, filter_, output_, fetched_, times_;
  Table outer_input_;  // along the loops outside m, by their states: from 2^m on
};

}  // namespace
}  // namespace gym::exact::wide
