// Cycles of the top level and the profile of its steps, of several mappings: see ../timer.hpp. PEs
// never wait, so that the time of a cluster is a product over loops.
#pragma once

#include <algorithm>

#include "traffic.hpp"

namespace gym::exact::wide {

inline constexpr int kStates = 1 << kMaxLoops;
using Table = std::array<Wide, kStates>;

// A loop in the top level, by its place among those that move. A loop of one step comes before all
// that move, where it changes nothing: it always stands at its last position.
struct Mover {
  Wide steps = all(1);
  // What it contributes before its last position (0) and there (1).
  std::array<Wide, 2> compute{all(1), all(1)}, input{all(1), all(1)}, filter{all(1), all(1)},
      output{all(1), all(1)};
  // What stays of the input as it advances, and as it goes back.
  Wide advance{}, back{};
  // 1 if the tensor has it, else 0.
  Wide in_filter{}, in_output{};
};

GYM_INLINE void take(Mask mask, const Mover& from, Mover& to) {
  const auto one = [&](Wide a, Wide& b) __attribute__((always_inline)) { b = mask ? a : b; };
  one(from.steps, to.steps);
  for (int last = 0; last < 2; ++last) {
    one(from.compute[last], to.compute[last]);
    one(from.input[last], to.input[last]);
    one(from.filter[last], to.filter[last]);
    one(from.output[last], to.output[last]);
  }
  one(from.advance, to.advance);
  one(from.back, to.back);
  one(from.in_filter, to.in_filter);
  one(from.in_output, to.in_output);
}

struct WideSpan {
  Wide min = all(0x1p62), max{}, sum{};

  GYM_INLINE void add(Wide value, Wide times) {
    const Mask occurs = times > 0;
    min = occurs ? least(min, value) : min;
    max = occurs ? most(max, value) : max;
    sum += value * times;
  }
};

struct Network {
  double bw, latency;

  GYM_INLINE Wide cycles(Wide words) const {
    const Wide none{};
    const Wide queue = floor_div(most(words - 1, none), all(bw));
    return words > 0 ? latency + queue : none;
  }
};

struct WideProfile {
  WideSpan ingress, compute, egress;
  Wide cycles{}, steps{}, peak_bw{}, first_in{}, last_out{};
};

// Doubles a table over the states of the loops so far by one more loop.
GYM_INLINE void extend(Table& table, int size, const std::array<Wide, 2>& factor) {
  for (int state = 0; state < size; ++state) {
    table[state + size] = table[state] * factor[1];
    table[state] *= factor[0];
  }
}

// Goes through every kind of step of the top level, with how often it occurs (E4.5). Every loop has
// two states here; states that do not occur, occur 0 times.
class Walk {
 public:
  // `input`, `filter`, `output`: what the loops that are not cut contribute.
  GYM_INLINE Walk(const Network& network, const Mover* movers, int count, Wide input, Wide filter,
                  Wide output, Wide waiting)
      : network_(network), movers_(movers), count_(count) {
    compute_[0] = all(1);
    input_[0] = input;
    filter_[0] = filter;
    output_[0] = output;
    int size = 1;
    for (int m = 0; m < count; ++m, size *= 2) {
      for (int state = 0; state < size; ++state) outer_input_[size - 1 + state] = input_[state];
      extend(compute_, size, movers[m].compute);
      extend(input_, size, movers[m].input);
      extend(filter_, size, movers[m].filter);
      extend(output_, size, movers[m].output);
    }
    for (int state = 0; state < size; ++state) compute_[state] += waiting;
    last_ = size - 1;
  }

  GYM_INLINE WideProfile run() {
    fill_and_drain();
    const int inner = count_ - 1;
    const int inner_bit = 1 << inner;
    const Mask moves = movers_[inner].steps > 1;
    const Wide one = moves ? all(1) : Wide{};
    fetch_inside(inner);
    const Mask short_run = movers_[inner].steps == 2;
    const auto first_in = [&](int state) __attribute__((always_inline)) {
      return short_run ? fetched_[state | inner_bit] : fetched_[state];
    };
    const Wide none{};
    // Without movers there is one step.
    step<true, true>(all(1) - one, last_, none, none);
    step<true, false>(one, 0, first_in(0), none);
    const Wide inner_leaves = movers_[inner].in_output;
    step<false, true>(one, last_, none, inner_leaves * output_[last_ & ~inner_bit]);
    times_[0] = all(1);
    Wide inside_back = all(1);  // set below, mover by mover
    for (int m = 0, size = 1; m < inner; ++m, size *= 2) {
      const Mover& mover = movers_[m];
      const int inside = last_ & ~(2 * size - 1);
      const Wide whole = most(mover.steps - 2, none);
      const Wide lasts = mover.steps > 1 ? all(1) : none;
      Wide in_filter = none, in_output = none;
      inside_back = mover.advance;
      for (int i = m; i < count_; ++i) {
        in_filter = most(in_filter, movers_[i].in_filter);
        in_output = most(in_output, movers_[i].in_output);
        if (i > m) inside_back *= movers_[i].back;
      }
      for (int state = 0; state < size; ++state) {
        const Wide stays = outer_input_[size - 1 + state] * inside_back;
        for (int to_bit = 0; to_bit <= size; to_bit += size) {
          const int end = state | inside, to = state | to_bit;
          const Wide times = times_[state] * (to_bit == 0 ? whole : lasts);
          const Wide in = in_filter * filter_[to] + input_[to] - stays;
          step<false, false>(times, end, in, inner_leaves * output_[end & ~inner_bit]);
          step<false, false>(times, to, first_in(to), in_output * output_[end]);
        }
        times_[state + size] = times_[state];
        times_[state] *= mover.steps - 1;
      }
    }
    const Wide whole = most(movers_[inner].steps - 3, none);
    const Wide lasts = movers_[inner].steps > 2 ? all(1) : none;
    for (int state = 0; state < inner_bit; ++state) {
      const Wide out = inner_leaves * output_[state];
      step<false, false>(times_[state] * whole, state, fetched_[state], out);
      step<false, false>(times_[state] * lasts, state, fetched_[state | inner_bit], out);
    }
    return profile_;
  }

 private:
  GYM_INLINE void fill_and_drain() {
    profile_.first_in = input_[0] + filter_[0];
    profile_.last_out = output_[last_];
    const Wide fill = network_.cycles(profile_.first_in);
    const Wide drain = network_.cycles(profile_.last_out);
    profile_.cycles = fill + drain;
    profile_.ingress.add(fill, all(1));
    profile_.egress.add(drain, all(1));
  }

  // As the innermost loop moves, by the state it moves to.
  GYM_INLINE void fetch_inside(int inner) {
    const Mover& mover = movers_[inner];
    const int bit = 1 << inner;
    for (int state = 0; state <= last_; ++state) {
      const Wide stays = outer_input_[bit - 1 + (state & (bit - 1))] * mover.advance;
      fetched_[state] = mover.in_filter * filter_[state] + input_[state] - stays;
    }
  }

  template <bool first, bool last>
  GYM_INLINE void step(Wide times, int state, Wide in, Wide out) {
    const Wide compute = compute_[state];
    const Wide in_time = network_.cycles(in), out_time = network_.cycles(out);
    profile_.cycles += times * most(compute, most(in_time, out_time));
    profile_.compute.add(compute, times);
    profile_.steps += times;
    if (!last) profile_.ingress.add(in_time, times);
    if (!first) profile_.egress.add(out_time, times);
    const Wide peak = ceil_div(most(in, out), compute);
    profile_.peak_bw = times > 0 ? most(profile_.peak_bw, peak) : profile_.peak_bw;
  }

  const Network network_;
  const Mover* movers_;
  const int count_;
  int last_ = 0;
  WideProfile profile_;
  Table compute_, input_, filter_, output_, fetched_, times_;
  Table outer_input_;  // of the loops outside mover m: from 2^m - 1 on, by their states
};

}  // namespace gym::exact::wide
