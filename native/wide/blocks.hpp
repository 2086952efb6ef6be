// Evaluates many points a block at a time, for batches of every model.
#pragma once

#include <array>

#include "../status.hpp"
#include "columns.hpp"

namespace gym {

// `add(i)` adds point i to the batch and returns `ok`, or why it has no row; `single(i)` evaluates
// one that the batch is not right about.
template <typename Batch, typename Add, typename Single>
void evaluate_in_blocks(Batch& batch, std::int64_t count, Metrics* rows, Status* statuses, Add add,
                        Single single) {
  std::array<std::int64_t, kBlock> index{};
  const auto run = [&] {
    const int lanes = batch.size();
    if (lanes == 0) return;
    batch.run();
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t i = index[lane];
      if (batch.right(lane)) {
        batch.read(lane, rows[i]);
      } else {
        statuses[i] = single(i);
      }
    }
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const int lane = batch.size();
    statuses[i] = add(i);
    if (statuses[i] == Status::ok) index[lane] = i;
    if (batch.full()) run();
  }
  run();
}

}  // namespace gym
