// Evaluates points of a map space a block at a time, side by side where that is right.
#pragma once

#include <algorithm>
#include <optional>

#include "../core/model.hpp"
#include "target.hpp"

namespace gym {

template <typename Problem>
class Batch {
 public:
  // Blocks are evaluated by one target, a mapping alone by another.
  explicit Batch(const Problem& problem,
                 const Target<Problem>& block = target_for_blocks<Problem>(),
                 const Target<Problem>& single = target_for_one<Problem>())
      : problem_(problem), block_(block), single_(single) {}

  // Writes a row and a status each. `settle(i, chosen)` returns the status of point i, or nothing
  // if lanes are to evaluate it; `general(i)` evaluates one that they are not right about: all of
  // them, if the problem does not read the space.
  template <typename Settle, typename General>
  void evaluate(const Points& points, const Results& results, Settle settle, General general) {
    const MapSpace& space = points.space;
    const Target<Problem>& target = points.count == 1 ? single_ : block_;
    const bool reads = open(space);
    std::array<std::int64_t, kBlock> index{};
    int size = 0;
    const auto run = [&] {
      run_block(target, size, results.detail);
      int right = 0;
      for (int i = 0; i < size; ++i) {
        const std::int64_t at = index[static_cast<std::size_t>(i)];
        if (columns_.right.of[static_cast<std::size_t>(i)] == 0) {
          results.statuses[at] = general(at);
          continue;
        }
        ++right;
        columns_.read(i, results.detail, results.rows[at]);
        if (results.detail == Detail::rows) problem_.finish(results.rows[at]);
      }
      // Where lanes are never right, as on machines whose PEs wait for words, they pause longer and
      // longer.
      next_pause_ = right == 0 ? std::min(2 * next_pause_ + size, kLongestPause) : 0;
      pause_ = next_pause_;
      size = 0;
    };
    for (std::int64_t i = 0; i < points.count; ++i) {
      if (!reads || pause_ > 0) {
        pause_ -= reads ? 1 : 0;
        results.statuses[i] = general(i);
        continue;
      }
      const MapSpace::Chosen chosen = space.read(points[i]);
      const std::optional<Status> settled = settle(i, chosen);
      results.statuses[i] = settled.value_or(Status::ok);
      if (settled) continue;
      add(space.dims.size(), chosen, size);
      index[static_cast<std::size_t>(size++)] = i;
      if (size == kBlock) run();
    }
    if (size > 0) run();
  }

 private:
  static constexpr int kLongestPause = 256;

  // Whether points of a space can be added from now on.
  bool open(const MapSpace& space) {
    if (!problem_.reads(space)) return false;
    std::array<bool, kMaxColumnLoops> named{};
    for (std::size_t d = 0; d < space.dims.size(); ++d) {
      const int loop = problem_.loop_of(space.dims[d]);
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
    return true;
  }

  void add(std::size_t dims, const MapSpace::Chosen& chosen, int row) {
    const auto i = static_cast<std::size_t>(row);
    for (std::size_t j = 0; j < tilings_.level.size(); ++j) {
      const MapSpace::Chosen::Level& level = chosen.level[j];
      TilingColumns::Level& to = tilings_.level[j];
      int place = first_place_;
      for (std::size_t rank = 0; rank < dims; ++rank) {
        const std::uint8_t d = (*level.order)[rank];
        const int loop = loop_[d];
        to.tile[loop].of[i] = level.tile[d];
        to.place[loop].of[i] = place;
        place += loop != TilingColumns::kNoLoop ? 1 : 0;
      }
      to.spatial.of[i] = loop_[level.parallel];
    }
    tilings_.level[0].units.of[i] = problem_.hardware.num_pes / chosen.cluster;
    tilings_.level[1].units.of[i] = chosen.cluster;
  }

  void run_block(const Target<Problem>& target, int size, Detail detail) {
    const int lanes = target.lanes;
    const int end = (size + lanes - 1) / lanes * lanes;
    for (TilingColumns::Level& level : tilings_.level) level.repeat(size, end, problem_.loops);
    target.evaluate(problem_, tilings_, size, detail, columns_);
  }

  const Problem& problem_;
  const Target<Problem>& block_;
  const Target<Problem>& single_;
  TilingColumns tilings_;
  ResultColumns columns_;
  std::array<int, MapSpace::kMaxLoops> loop_{};  // by dimension of the space
  int first_place_ = 0;
  int pause_ = 0, next_pause_ = 0;  // points to leave to the general path
};

}  // namespace gym
