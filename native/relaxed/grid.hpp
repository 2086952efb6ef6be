// Sizes of tiles in classes: the states of the relaxed program (docs/optimum_memories.md).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../core/layer.hpp"
#include "tables.hpp"

namespace gym::relaxed {

using Counts = std::array<std::int64_t, kLoops>;

// Sizes of a tile, next to each other, that cut a dimension into as many chunks (P5), or nearly.
struct Class {
  std::int64_t least, most;
};

class Grid {
 public:
  // Classes are merged while the chunks of their sizes differ by at most this ratio; 1: never.
  // Less: some sizes alone, for traces; also those that the units of some fan-outs, from the
  // outside in, share equally. The first memory's tiles lie between `outer`: no class has some of
  // them and others, and of those above there is the largest alone.
  Grid(const Counts& extents, double ratio, const std::vector<Counts>& units,
       const std::array<Counts, 2>& outer);

  std::int64_t states() const { return states_; }
  const std::vector<Class>& classes(int dim) const { return classes_[dim]; }
  std::int64_t stride(int dim) const { return strides_[dim]; }
  // The class of a dimension in a state.
  std::int64_t at(std::int64_t state, int dim) const {
    return state / strides_[dim] % std::ssize(classes_[dim]);
  }

  // Calls `use` with the class of each dimension, for every state of some dimensions in turn, as if
  // the others had one class.
  template <typename Use>
  void each(LoopSet dims, const Use& use) const {
    std::array<std::int32_t, kLoops> index{};
    for (int d = kLoops; d >= 0;) {
      use(index);
      for (d = kLoops - 1; d >= 0; --d) {
        if (!has(dims, static_cast<LoopId>(d))) continue;
        if (++index[d] < std::ssize(classes_[d])) break;
        index[d] = 0;
      }
    }
  }
  // The least cost of the states with any classes of some dimensions and the largest ones of
  // others; each of them may cost more.
  double least(const Table& costs, LoopSet dims, const Table& more = {}) const;
  // The place of each state among those of some dimensions, as `each` counts them.
  std::vector<std::int32_t> places(LoopSet dims) const;

 private:
  std::array<std::vector<Class>, kLoops> classes_;
  Counts strides_{};
  std::int64_t states_ = 1;
};

inline constexpr LoopSet kAllLoops = (LoopSet{1} << kLoops) - 1;

}  // namespace gym::relaxed
