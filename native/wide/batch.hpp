// Collects mappings until there is a block of them to evaluate, for every model.
#pragma once

#include "../status.hpp"
#include "columns.hpp"

namespace gym {

template <typename Problem>
class Batch {
 public:
  using Evaluate = void (*)(const Problem& problem, const TilingColumns& tilings,
                            ResultColumns& results);

  // `evaluate` is null if this processor evaluates no mappings side by side.
  Batch(const Problem& problem, Evaluate evaluate) : problem_(problem), evaluate_(evaluate) {}

  bool works() const { return evaluate_ != nullptr; }
  int size() const { return size_; }
  bool full() const { return size_ == kBlock; }
  // Evaluates those there are, and is empty again.
  void run() {
    for (TilingColumns::Level& level : tilings_.level) level.repeat_from(size_, problem_.loops);
    evaluate_(problem_, tilings_, results_);
    size_ = 0;
  }

  // Of the last run: whether the figures of its i-th mapping are right, and what they are.
  bool right(int i) const { return results_.right.of[static_cast<std::size_t>(i)] != 0; }
  void read(int i, Metrics& metrics) const { results_.read(i, metrics); }

 protected:
  const Problem& problem_;
  TilingColumns tilings_;
  int size_ = 0;

 private:
  const Evaluate evaluate_;
  ResultColumns results_;
};

// Evaluates many points a block at a time. `add(i)` adds point i to the batch and returns `ok`, or
// why it has no row; `single(i)` evaluates one that the batch is not right about. Where it seldom
// is, as on machines whose PEs wait for words, all after the first blocks are left to that.
template <typename Batch, typename Add, typename Single>
void evaluate_in_blocks(Batch& batch, std::int64_t count, Metrics* rows, Status* statuses, Add add,
                        Single single) {
  constexpr std::int64_t kTried = 4 * kBlock;
  std::array<std::int64_t, kBlock> index{};
  std::int64_t evaluated = 0, right = 0;
  const auto run = [&] {
    const int lanes = batch.size();
    if (lanes == 0) return;
    batch.run();
    evaluated += lanes;
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t i = index[lane];
      if (batch.right(lane)) {
        ++right;
        batch.read(lane, rows[i]);
      } else {
        statuses[i] = single(i);
      }
    }
  };
  for (std::int64_t i = 0; i < count; ++i) {
    if (evaluated >= kTried && right < evaluated / 4) {
      statuses[i] = single(i);
      continue;
    }
    const int lane = batch.size();
    statuses[i] = add(i);
    if (statuses[i] == Status::ok) index[lane] = i;
    if (batch.full()) run();
  }
  run();
}

}  // namespace gym
