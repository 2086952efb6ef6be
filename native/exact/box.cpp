#include "box.hpp"

#include <algorithm>

namespace gym::exact {

Box::Box(const LoopNest& nest)
    : loops_(real_loops(nest)),
      axes_{SlidingAxis{kLoopP, kLoopR, nest.stride_y}, {kLoopQ, kLoopS, nest.stride_x}} {
  static const Variant one{{1, 1, whole(1)}, {}};
  loop_.fill(&one);
}

void Box::open(const Partition& partition, int level, const TiledLevel& tiled, const BoxKey& key) {
  list_loops(partition, level, key);
  list_movers(tiled);
  measure_tiles();
}

void Box::measure_kept() {
  for (int m = movers_; m-- > 0;) {
    Mover& mover = mover_[m];
    if ((mover.changed & kInputSingles) != 0) break;
    for (std::size_t k = 0; k < axes_.size(); ++k) mover.kept[k] = kept_rows(axes_[k], mover);
  }
}

void Box::list_loops(const Partition& partition, int level, const BoxKey& key) {
  fixed_.count = 0;
  for (const LoopId id : loops_) {
    loop_[id] = &partition.of(level, id)[key.of(id)];
    bit_[id] = 0;
    if (loop_[id]->cut.steps == 1) fixed_.add(id);
  }
}

void Box::list_movers(const TiledLevel& level) {
  movers_ = 0;
  ragged_.count = 0;
  states_ = 1;
  for (int i = 0; i < level.count; ++i) {
    const LoopId id = level.order[i];
    const Cut& cut = loop_[id]->cut;
    if (cut.steps == 1) continue;
    if (cut.array[0] == cut.array[1]) {
      fixed_.add(id);
    } else {
      ragged_.add(id);
      bit_[id] = states_;
      states_ *= 2;
    }
    Mover& mover = mover_[movers_++];
    mover.id = id;
    mover.steps = cut.steps;
    mover.bit = bit_[id];
  }
  State inside = 0;
  LoopSet changed = 0;
  for (int m = movers_; m-- > 0;) {
    Mover& mover = mover_[m];
    mover.inside = inside;
    mover.changed = changed |= set_of(mover.id);
    inside |= mover.bit;
  }
}

void Box::measure_tiles() {
  const auto measure = [this](ByState& words, LoopSet tensor) {
    fill(words, [this, tensor](LoopId id) {
      return has(tensor, id) ? loop_[id]->cut.array : std::array<std::int64_t, 2>{1, 1};
    });
  };
  measure(singles_, kInputSingles);
  measure(filter_, kFilterLoops);
  measure(output_, kOutputLoops);
  for (std::size_t k = 0; k < axes_.size(); ++k) rows_[k] = rows(axes_[k]);
  for (State state = 0; state < states_; ++state) {
    const std::uint8_t y = axis_state(axes_[0], state);
    const std::uint8_t x = axis_state(axes_[1], state);
    axis_state_[state] = {y, x};
    input_[state] = singles_[state] * rows_[0][y] * rows_[1][x];
  }
}

Box::AxisRows Box::rows(const SlidingAxis& axis) const {
  const auto& outputs = loop_[axis.output]->cut.array;
  const auto& taps = loop_[axis.window]->cut.array;
  AxisRows rows{};
  for (std::size_t state = first_axis_state(axis); state < rows.size(); ++state) {
    rows[state] = exact::rows({outputs[state & 1], taps[state >> 1]}, axis.stride);
  }
  return rows;
}

// Rows that stay as the array's tile moves, by where it moves to: the mover advances from before
// its last position, loops inside it go back from theirs to their start.
Box::AxisRows Box::kept_rows(const SlidingAxis& axis, const Mover& mover) const {
  const auto changes = [&](LoopId id) { return has(mover.changed, id); };
  if (!changes(axis.output) && !changes(axis.window)) {
    return rows_[static_cast<std::size_t>(&axis - axes_.data())];
  }
  const auto shift = [&](LoopId id) -> std::int64_t {
    const Cut& cut = loop_[id]->cut;
    if (!changes(id)) return 0;
    return mover.id == id ? cut.advance : -(cut.steps - 1) * cut.advance;
  };
  const std::int64_t distance = shift(axis.output) * axis.stride + shift(axis.window);
  // The size of a loop's tile before the move, and after a move to its last position or another.
  const auto before = [&](LoopId id, bool last) {
    return loop_[id]->cut.array[changes(id) ? mover.id != id : last];
  };
  AxisRows kept{};
  for (std::size_t to = first_axis_state(axis); to < kept.size(); ++to) {
    const bool last_output = (to & 1) != 0;
    const bool last_window = (to & 2) != 0;
    const SlidingTile old = {before(axis.output, last_output), before(axis.window, last_window)};
    const SlidingTile now = {loop_[axis.output]->cut.array[last_output],
                             loop_[axis.window]->cut.array[last_window]};
    kept[to] = overlap(old, now, axis.stride, distance);
  }
  return kept;
}

}  // namespace gym::exact
