// Which tensors L2 keeps whole, and what crosses the chip's edge (E3.5).
#pragma once

#include <array>
#include <cstdint>

#include "../core/layer.hpp"
#include "../core/numbers.hpp"

namespace gym::exact {

template <typename Number>
using BasicPerTensor = std::array<Number, kTensors>;
using PerTensor = BasicPerTensor<Count>;

template <typename Number>
struct BasicL2Plan {
  Number resident;  // bit per tensor: input 1, filter 2, output 4
  BasicPerTensor<Number> offchip_in;
  Number offchip_out;
  Number size;  // least L2 the mapping runs with
  Number used;  // by the chosen set
  Number hold;  // least L2 with compulsory off-chip traffic

  GYM_INLINE Number words_in() const { return offchip_in[0] + offchip_in[1] + offchip_in[2]; }
};
using L2Plan = BasicL2Plan<Count>;

// `words`: of the whole tensors; `stream`: words that pass between L2 and the array; `tile`: words
// of the largest array tile; `capacity` in words. The set that is kept leaves the least traffic,
// then takes the fewest words, then has the lowest number.
template <typename Number>
GYM_INLINE BasicL2Plan<Number> plan_l2(const PerTensor& words, const BasicPerTensor<Number>& stream,
                                       const BasicPerTensor<Number>& tile, std::int64_t capacity) {
  BasicPerTensor<Number> whole, streamed, traffic;
  BasicL2Plan<Number> plan{};
  Number least_traffic{}, least_kept{};
  for (int t = 0; t < kTensors; ++t) {
    whole[t] = number<Number>(words[t]);
    streamed[t] = least(2 * tile[t], whole[t]);
    // A word that leaves again finds its old value off-chip.
    traffic[t] = t == kOutput ? 2 * stream[t] - whole[t] : most(stream[t], whole[t]);
    plan.size += streamed[t];
    plan.hold += select(stream[t] > whole[t], whole[t], streamed[t]);
    least_traffic += traffic[t];
  }
  plan.used = plan.size;
  BasicPerTensor<Number> keeps{};
  for (int set = 1; set < 1 << kTensors; ++set) {
    Number used{}, kept{}, total{};
    auto possible = least_traffic >= Number{};
    for (int t = 0; t < kTensors; ++t) {
      const bool in = (set >> t & 1) != 0;
      if (in) possible &= stream[t] > whole[t];
      used += in ? whole[t] : streamed[t];
      kept += in ? whole[t] : Number{};
      total += in ? whole[t] : traffic[t];
    }
    possible &= used <= number<Number>(capacity);
    possible &= (total < least_traffic) | ((total == least_traffic) & (kept < least_kept));
    plan.resident = select(possible, number<Number>(set), plan.resident);
    plan.used = select(possible, used, plan.used);
    least_traffic = select(possible, total, least_traffic);
    least_kept = select(possible, kept, least_kept);
    for (int t = 0; t < kTensors; ++t) {
      keeps[t] = select(possible, number<Number>(set >> t & 1), keeps[t]);
    }
  }
  for (int t = 0; t < kTensors; ++t) {
    const Number in = t == kOutput ? stream[t] - whole[t] : most(stream[t], whole[t]);
    const Number held = t == kOutput ? Number{} : whole[t];
    plan.offchip_in[t] = select(keeps[t] > Number{}, held, in);
  }
  plan.offchip_out = select(keeps[kOutput] > Number{}, whole[kOutput], stream[kOutput]);
  return plan;
}

}  // namespace gym::exact
