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

class Walk {
 public:
  GYM_INLINE Walk(const Network& network, const Mover* movers, int count, Wide input, Wide filter,
                  Wide output)
      : network_(network), movers_(movers), count_(count) {
    compute_[0] = all(1);
    input_[0] = input;
    filter_[0] = filter;
    output_[0] = output;
  }

 private:
  const Network network_;
  const Mover* movers_;
  const int count_;
  Table compute_, input_, filter_, output_;
};

}  // namespace gym::exact::wide
