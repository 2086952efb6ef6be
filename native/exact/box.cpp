#include "box.hpp"

#include <algorithm>

namespace gym::exact {

Box::Box(const LoopNest& nest) : loops_(real_loops(nest)) {
  static const Variant one;
  loop_.fill(&one);
  axes_[0].loops = {kLoopP, kLoopR, nest.stride_y};
  axes_[1].loops = {kLoopQ, kLoopS, nest.stride_x};
}

void Box::open(const Partition& partition, int level, const TiledLevel& tiled, const BoxKey& key) {
  for (const LoopId id : loops_) loop_[id] = &partition.of(level, id)[key[id]];
  list_movers(tiled);
  for (Axis& axis : axes_) measure(axis);
  const auto size = [this](LoopId id) { return loop_[id]->cut.array; };
  fill(singles_, set_of(kInputSingles), size);
  fill(filter_, set_of(kFilterLoops), size);
  fill(output_, set_of(kOutputLoops), size);
  for (State state = 0; state < states_; ++state) {
    input_[state] = singles_[state] * rows(axes_[0], state) * rows(axes_[1], state);
  }
}

void Box::list_movers(const TiledLevel& level) {
  movers_ = 0;
  ragged_.count = fixed_.count = 0;
  states_ = 1;
  for (const LoopId id : loops_) {
    bit_[id] = 0;
    if (loop_[id]->cut.steps == 1) fixed_.add(id);
  }
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
    mover_[movers_++] = {id, cut.steps, bit_[id], 0, 0};
  }
  State inside = 0;
  LoopSet changed = 0;
  for (int m = movers_; m-- > 0;) {
    Mover& mover = mover_[m];
    mover.inside = inside;
    mover.changed = changed |= bit_of(mover.id);
    inside |= mover.bit;
  }
}

void Box::measure(Axis& axis) const {
  const Cut& output = loop_[axis.loops.output]->cut;
  const Cut& window = loop_[axis.loops.window]->cut;
  const std::int64_t stride = axis.loops.stride;
  for (int index = 0; index < 4; ++index) {
    axis.rows[index] = exact::rows({output.array[index & 1], window.array[index >> 1]}, stride);
  }
  // For a window that stands still: tiles of p outputs have p * step + halo rows.
  const std::int64_t step = std::min(stride, window.array[1]);
  axis.halo = window.array[1] - step;
  const std::int64_t back = (output.steps - 1) * output.array[0] * stride;
  axis.jump = std::max<std::int64_t>(0, axis.halo - (back - output.array[0] * step));
}

std::int64_t Box::fetched(const Mover& mover, State to) const {
  const std::int64_t filter =
      (mover.changed & set_of(kFilterLoops)) != 0 ? filter_[to] : 0;
  if ((mover.changed & set_of(kInputSingles)) != 0) return filter + input_[to];
  const std::int64_t kept =
      singles_[to] * kept_rows(axes_[0], mover, to) * kept_rows(axes_[1], mover, to);
  return filter + input_[to] - kept;
}

// Rows that stay as the array's tile moves: the mover advances from before its last position, loops
// inside it go back from theirs to their start.
std::int64_t Box::kept_rows(const Axis& axis, const Mover& mover, State to) const {
  const auto [output, window, stride] = axis.loops;
  const bool window_moves = (mover.changed & bit_of(window)) != 0;
  if (!window_moves) {
    if ((mover.changed & bit_of(output)) == 0) return rows(axis, to);
    if (bit_[window] == 0) return mover.id == output ? axis.halo : axis.jump;
  }
  const State from = (to & ~mover.bit) | mover.inside;
  const auto shift = [&](LoopId id) -> std::int64_t {
    if ((mover.changed & bit_of(id)) == 0) return 0;
    const Cut& cut = loop_[id]->cut;
    return mover.id == id ? cut.advance : -(cut.steps - 1) * cut.advance;
  };
  const auto tile = [&](State state) -> SlidingTile {
    const auto size = [&](LoopId id) { return loop_[id]->cut.array[at_last(state, id) ? 1 : 0]; };
    return {size(output), size(window)};
  };
  return overlap(tile(from), tile(to), stride, shift(output) * stride + shift(window));
}

}  // namespace gym::exact
