// One box of a level: which loops move in it, and the words of the array's tile (E4.2-E4.3).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "overlap.hpp"
#include "partition.hpp"
#include "profile.hpp"
#include "sliding.hpp"

namespace gym::exact {

// A box by the variants its extents are.
using BoxKey = std::array<std::uint8_t, kLoops>;

// Bit i: the i-th ragged loop stands at its last position, where the array's tile is smaller than
// before. Sizes depend on nothing else.
using State = std::uint32_t;
inline constexpr int kStates = 1 << kLoops;

using LoopSet = std::uint32_t;
constexpr LoopSet bit_of(LoopId id) { return LoopSet{1} << id; }

template <std::size_t n>
constexpr LoopSet set_of(const std::array<LoopId, n>& loops) {
  LoopSet set = 0;
  for (const LoopId id : loops) set |= bit_of(id);
  return set;
}

// A number for every state.
using ByState = std::array<std::int64_t, kStates>;

class Box {
 public:
  // A loop of more than one step.
  struct Mover {
    LoopId id;
    std::int64_t steps;
    State bit;        // 0 if it is not ragged: then no position differs from the others
    State inside;     // bits of the loops inside it
    LoopSet changed;  // itself and the loops inside it
  };

  explicit Box(const LoopNest& nest);

  void open(const Partition& partition, int level, const TiledLevel& tiled, const BoxKey& key);

  // Outermost first.
  int movers() const { return movers_; }
  const Mover& mover(int m) const { return mover_[m]; }
  const Mover& innermost() const { return mover_[movers_ - 1]; }
  const Variant& loop(LoopId id) const { return *loop_[id]; }

  // The first state is 0; in the last one all bits are set.
  State last() const { return states_ - 1; }
  int states() const { return static_cast<int>(states_); }
  // Whether a loop stands at its last position, or might as well.
  bool at_last(State state, LoopId id) const { return (state & bit_[id]) == bit_[id]; }

  TileWords words(State state) const { return {input_[state], filter_[state], output_[state]}; }
  // Output words that leave when loop m moves on from `before`.
  std::int64_t leaving(const Mover& mover, State before) const {
    return (mover.changed & set_of(kOutputLoops)) != 0 ? output_[before] : 0;
  }
  // Words missing in state `to` when loop m moves there.
  std::int64_t fetched(const Mover& mover, State to) const;

  // Fills a table with products over loops; factor(id) is what one contributes before its last
  // position and at it.
  template <typename Factor>
  void fill(ByState& table, LoopSet loops, Factor factor) const {
    table[0] = 1;
    for (const LoopId id : fixed_) {
      if ((loops & bit_of(id)) != 0) table[0] *= factor(id)[1];
    }
    State size = 1;
    for (const LoopId id : ragged_) {
      std::array<std::int64_t, 2> each{1, 1};
      if ((loops & bit_of(id)) != 0) each = factor(id);
      for (State state = 0; state < size; ++state) {
        table[state + size] = table[state] * each[1];
        table[state] *= each[0];
      }
      size *= 2;
    }
  }

 private:
  // A few loops, in order.
  struct Loops {
    std::array<LoopId, kLoops> id;
    int count = 0;

    void add(LoopId loop) { id[count++] = loop; }
    const LoopId* begin() const { return id.data(); }
    const LoopId* end() const { return id.data() + count; }
  };
  struct Axis {
    SlidingAxis loops;
    std::array<std::int64_t, 4> rows;  // of tiles; index 1: last output tile, 2: last window
    std::int64_t halo, jump;           // rows that stay as the output loop advances, goes back
  };

  void list_movers(const TiledLevel& level);
  void measure(Axis& axis) const;
  std::int64_t rows(const Axis& axis, State state) const {
    const int output = at_last(state, axis.loops.output) ? 1 : 0;
    const int window = at_last(state, axis.loops.window) ? 2 : 0;
    return axis.rows[output + window];
  }
  std::int64_t kept_rows(const Axis& axis, const Mover& mover, State to) const;

  std::vector<LoopId> loops_;  // of more than one index: the others contribute 1
  Loops fixed_, ragged_;       // of these; ragged ones by their bits
  std::array<const Variant*, kLoops> loop_{};
  std::array<State, kLoops> bit_{};
  int movers_ = 0;
  State states_ = 1;
  std::array<Mover, kLoops> mover_{};
  std::array<Axis, 2> axes_;
  ByState singles_;  // the input's tile along the axes of one loop
  ByState input_, filter_, output_;
};

}  // namespace gym::exact
