// Collects points of a map space until there is a block of them to evaluate, for every model.
#pragma once

#include <algorithm>
#include <limits>

#include "../map_space.hpp"
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
  // The point must be in range, and the batch be open for its space.
  void add(const std::int32_t* point) {
    const auto i = static_cast<std::size_t>(size_++);
    const std::size_t dims = space_->dims.size();
    const std::vector<MapSpace::Order>& orders = permutations(dims);
    std::array<std::int32_t, MapSpace::kMaxLoops> outer;
    outer.fill(std::numeric_limits<std::int32_t>::max());
    for (std::size_t j = 0; j < tilings_.level.size(); ++j) {
      const MapSpace::Level& level = space_->levels[j];
      TilingColumns::Level& to = tilings_.level[j];
      for (std::size_t d = 0; d < dims; ++d) {
        outer[d] = std::min(level.tiles[d].pick(point), outer[d]);
        to.tile[loop_[d]].of[i] = outer[d];
      }
      const MapSpace::Order& order = orders[static_cast<std::size_t>(point[level.order_column])];
      int place = first_place_;
      for (std::size_t rank = 0; rank < dims; ++rank) {
        const int loop = loop_[order[rank]];
        to.place[loop].of[i] = place;
        place += loop != TilingColumns::kNoLoop ? 1 : 0;
      }
      to.spatial.of[i] = loop_[level.parallel.pick(point)];
    }
    const std::int32_t cluster = space_->cluster.pick(point);
    tilings_.level[0].units.of[i] = problem_.hardware.num_pes / cluster;
    tilings_.level[1].units.of[i] = cluster;
  }
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
  // From now on points are of this space, as long as it lives. `loop_of(d)` is the problem's loop
  // that its dimension d cuts, a loop of its own, or negative.
  template <typename LoopOf>
  void open(const MapSpace& space, LoopOf loop_of) {
    space_ = &space;
    std::array<bool, kMaxColumnLoops> named{};
    for (std::size_t d = 0; d < space.dims.size(); ++d) {
      const int loop = loop_of(d);
      loop_[d] = loop < 0 ? TilingColumns::kNoLoop : loop;
      if (loop >= 0) named[static_cast<std::size_t>(loop)] = true;
    }
    // What no dimension cuts is outermost.
    first_place_ = 0;
    for (int loop = 0; loop < problem_.loops; ++loop) {
      if (named[static_cast<std::size_t>(loop)]) continue;
      for (TilingColumns::Level& level : tilings_.level) {
        level.tile[loop].of.fill(problem_.loop[loop].extent);
        level.place[loop].of.fill(first_place_);
      }
      ++first_place_;
    }
  }

  const Problem& problem_;
  const MapSpace* space_ = nullptr;

 private:
  TilingColumns tilings_;
  int size_ = 0;
  std::array<int, MapSpace::kMaxLoops> loop_{};  // by dimension of the space
  int first_place_ = 0;
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
