#include "offchip.hpp"

#include <algorithm>
#include <tuple>

namespace gym::exact {

namespace {

constexpr int kSets = 1 << kTensors;

bool holds(int set, int tensor) { return (set >> tensor & 1) != 0; }

// Off-chip traffic if the tensors of `set` stay in L2.
void count_traffic(const PerTensor& words, const PerTensor& stream, int set, L2Plan& plan) {
  for (const TensorId t : {kInput, kFilter}) {
    plan.offchip_in[t] = holds(set, t) ? words[t] : std::max(stream[t], words[t]);
  }
  // A word that leaves again finds its old value off-chip.
  const std::int64_t out = holds(set, kOutput) ? words[kOutput] : stream[kOutput];
  plan.offchip_out = out;
  plan.offchip_in[kOutput] = out - words[kOutput];
}

}  // namespace

L2Plan plan_l2(const PerTensor& words, const PerTensor& stream, const PerTensor& tile,
               std::int64_t capacity) {
  PerTensor streamed;
  int again = 0;
  L2Plan best;
  for (int t = 0; t < kTensors; ++t) {
    streamed[t] = std::min(2 * tile[t], words[t]);
    if (stream[t] > words[t]) again |= 1 << t;
    best.size += streamed[t];
    best.hold += holds(again, t) ? words[t] : streamed[t];
  }
  best.used = best.size;
  count_traffic(words, stream, 0, best);
  std::int64_t best_resident = 0;
  for (int set = 1; set < kSets; ++set) {
    if ((set & ~again) != 0) continue;
    L2Plan plan = best;
    plan.resident = set;
    plan.used = 0;
    std::int64_t resident = 0;
    for (int t = 0; t < kTensors; ++t) {
      plan.used += holds(set, t) ? words[t] : streamed[t];
      resident += holds(set, t) ? words[t] : 0;
    }
    if (plan.used > capacity) continue;
    count_traffic(words, stream, set, plan);
    const auto rank = [](const L2Plan& each, std::int64_t kept) {
      return std::tuple(each.words_in() + each.offchip_out, kept, each.resident);
    };
    if (rank(plan, resident) < rank(best, best_resident)) {
      best = plan;
      best_resident = resident;
    }
  }
  return best;
}

}  // namespace gym::exact
