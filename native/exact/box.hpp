// One box of a level: which loops move in it, and the words of the array's tile (E4.2-E4.3).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "partition.hpp"
#include "tile.hpp"

namespace gym::exact {

// A box by the variants its extents are: a few bits for each loop.
class BoxKey {
 public:
  void set(LoopId id, std::uint8_t variant) {
    bits_ &= ~(kMask << kBits * id);
    bits_ |= std::uint32_t{variant} << kBits * id;
  }
  int of(LoopId id) const { return static_cast<int>(bits_ >> kBits * id & kMask); }
  bool operator==(const BoxKey&) const = default;

 private:
  static constexpr int kBits = kMaxLevels - 1;
  static constexpr std::uint32_t kMask = (1 << kBits) - 1;
  static_assert(kBits * kLoops <= 32);

  std::uint32_t bits_ = 0;
};

// Bit i: the i-th ragged loop stands at its last position, where the array's tile is smaller than
// before. Sizes depend on nothing else.
using State = std::uint32_t;
inline constexpr int kStates = 1 << kLoops;

// A number for every state.
using ByState = std::array<std::int64_t, kStates>;

class Box {
  // Rows of an axis by the states of its loops: bit 0, the output loop at its last position; bit 1,
  // the window.
  using AxisRows = std::array<std::int64_t, 4>;

 public:
  // A loop of more than one step.
  struct Mover {
    LoopId id;
    std::int64_t steps;
    State bit;        // 0 if it is not ragged: then no position differs from the others
    State inside;     // bits of the loops inside it
    LoopSet changed;  // itself and the loops inside it
    // What stays of the input's tile, where any of it does.
    std::array<AxisRows, 2> kept;
  };

  explicit Box(const LoopNest& nest);

  void open(const Partition& partition, int level, const TiledLevel& tiled, const BoxKey& key);
  // For `fetched`.
  void measure_kept();

  // Outermost first.
  int movers() const { return movers_; }
  const Mover& mover(int m) const { return mover_[m]; }
  const Mover& innermost() const { return mover_[movers_ - 1]; }
  const Variant& loop(LoopId id) const { return *loop_[id]; }

  // The first state is 0; in the last one all bits are set.
  State last() const { return states_ - 1; }
  State states() const { return states_; }
  // Whether a loop stands at its last position, or might as well.
  bool at_last(State state, LoopId id) const { return (state & bit_[id]) == bit_[id]; }

  TileWords words(State state) const { return {input_[state], filter_[state], output_[state]}; }
  std::int64_t output(State state) const { return output_[state]; }
  // Whether output words leave when a loop moves.
  static bool sends(const Mover& mover) { return (mover.changed & kOutputLoops) != 0; }
  // Words missing in state `to` when loop m moves there.
  std::int64_t fetched(const Mover& mover, State to) const {
    std::int64_t words = input_[to];
    if ((mover.changed & kFilterLoops) != 0) words += filter_[to];
    if ((mover.changed & kInputSingles) != 0) return words;
    const auto [y, x] = axis_state_[to];
    return words - singles_[to] * mover.kept[0][y] * mover.kept[1][x];
  }

  // Fills a table with products over all loops; factor(id) is what one contributes before its last
  // position and at it.
  template <typename Factor>
  void fill(ByState& table, Factor factor) const {
    table[0] = 1;
    for (const LoopId id : fixed_) table[0] *= factor(id)[1];
    State size = 1;
    for (const LoopId id : ragged_) {
      extend(table, size, factor(id));
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
  // Smaller ones do not occur.
  std::size_t first_axis_state(const SlidingAxis& axis) const { return axis_state(axis, 0); }
  void list_loops(const Partition& partition, int level, const BoxKey& key);
  void list_movers(const TiledLevel& level);
  // Another loop that is ragged, by what it contributes before its last position and there.
  static void extend(ByState& table, State size, const std::array<std::int64_t, 2>& factor) {
    for (State state = 0; state < size; ++state) {
      table[state + size] = table[state] * factor[1];
      table[state] *= factor[0];
    }
  }
  void measure_tiles();
  AxisRows rows(const SlidingAxis& axis) const;
  AxisRows kept_rows(const SlidingAxis& axis, const Mover& mover) const;
  std::uint8_t axis_state(const SlidingAxis& axis, State state) const {
    return static_cast<std::uint8_t>((at_last(state, axis.output) ? 1 : 0) +
                                     (at_last(state, axis.window) ? 2 : 0));
  }

  std::vector<LoopId> loops_;  // of more than one index: the others contribute 1
  Loops fixed_, ragged_;       // of these; ragged ones by their bits
  std::array<const Variant*, kLoops> loop_{};
  std::array<State, kLoops> bit_{};
  int movers_ = 0;
  State states_ = 1;
  std::array<Mover, kLoops> mover_{};
  std::array<SlidingAxis, 2> axes_;
  std::array<AxisRows, 2> rows_;
  std::array<std::array<std::uint8_t, 2>, kStates> axis_state_;
  ByState singles_;  // the input's tile along the axes of one loop
  ByState input_, filter_, output_;
};

}  // namespace gym::exact
