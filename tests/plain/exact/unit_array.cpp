#include "unit_array.hpp"

#include <limits>

namespace gym::exact {

void UnitArray::prepare(const TiledLevel& level, const LoopNest& nest,
                        const std::vector<LoopId>& loops, const std::array<Extents, 2>& extent) {
  level_ = &level;
  axis_ = {Axis{kLoopP, kLoopR, nest.stride_y}, Axis{kLoopQ, kLoopS, nest.stride_x}};
  Extents tile;
  tile.fill(std::numeric_limits<std::int32_t>::max());
  for (int i = 0; i < level.count; ++i) tile[level.loops[i].id] = level.loops[i].tile;
  for (int v = 0; v < 2; ++v) {
    LoopSets& sets = sets_[v] = LoopSets{};
    for (const LoopId id : loops) {
      if (v == 1 && extent[1][id] == extent[0][id]) continue;  // never chosen
      Cut& cut = variants_[v][id];
      cut_loop(extent[v][id], tile[id], id == level.spatial ? level.units : 1, cut);
      if (cut.steps > 1) sets.moving |= bit_of(id);
      if (cut.array[0] != cut.array[1]) sets.ragged |= bit_of(id);
      if (cut.tail != cut.tile) sets.tailed |= bit_of(id);
      // One unit with a whole tile is as slow as many.
      const std::int64_t last = cut.active[1] > 1 ? cut.tile : cut.tail;
      busiest_[v][id] = id == level.spatial ? (cut.steps - 1) * cut.tile + last : extent[v][id];
    }
  }
  fewest_macs_ = 1;
  for (int d = 0; d < kLoops; ++d) {
    const bool two = extent[1][d] != extent[0][d];
    fewest_macs_ *= std::min(variants_[0][d].tail, variants_[two ? 1 : 0][d].tail);
    cut_[d] = &variants_[0][d];
  }
  largest_ = count_words(kAllLoops & ~sets_[0].moving);
}

void UnitArray::set_up(State tails) {
  for (int d = 0; d < kLoops; ++d) cut_[d] = &variants_[tails >> d & 1][d];
  const auto choose = [tails](State whole, State tail) {
    return (whole & ~tails) | (tail & tails);
  };
  now_.moving = choose(sets_[0].moving, sets_[1].moving);
  now_.ragged = choose(sets_[0].ragged, sets_[1].ragged);
  now_.tailed = choose(sets_[0].tailed, sets_[1].tailed);
  movers_ = 0;
  State inside = now_.moving;
  for (int i = 0; i < level_->count; ++i) {
    const LoopId id = level_->loops[i].id;
    if (at(now_.moving, id) == 0) continue;
    moving_[movers_] = id;
    changed_[movers_++] = inside;
    inside &= ~bit_of(id);
  }
  known_words_.reset();
  known_moves_.reset();
}

std::int64_t UnitArray::unit_macs(State tails) const {
  std::int64_t macs = 1;
  for (int d = 0; d < kLoops; ++d) macs *= (tails >> d & 1) != 0 ? cut_[d]->tail : cut_[d]->tile;
  return macs;
}

SlidingTile UnitArray::array_tile(const Axis& axis, State state) const {
  return {cut_[axis.output]->array[at(state, axis.output)],
          cut_[axis.window]->array[at(state, axis.window)]};
}

TileWords UnitArray::count_words(State state) const {
  const auto size = [&](LoopId id) { return cut_[id]->array[at(state, id)]; };
  const SlidingTile y = array_tile(axis_[0], state);
  const SlidingTile x = array_tile(axis_[1], state);
  const std::int64_t groups = size(kLoopG);
  const std::int64_t channels = size(kLoopC);
  const std::int64_t batch = size(kLoopN) * groups;
  const std::int64_t filters = size(kLoopK);
  return {batch * channels * rows(y, axis_[0].stride) * rows(x, axis_[1].stride),
          groups * filters * channels * y.taps * x.taps, batch * filters * y.outputs * x.outputs};
}

// Rows that stay as the array's tile moves: the mover advances, loops inside it go back to their
// start.
std::int64_t UnitArray::kept_rows(const Axis& axis, int m, State from, State to) const {
  const auto shift = [&](LoopId id) -> std::int64_t {
    if (at(changed_[m], id) == 0) return 0;
    const Cut& cut = *cut_[id];
    return moving_[m] == id ? cut.advance : -(cut.steps - 1) * cut.advance;
  };
  return overlap(array_tile(axis, from), array_tile(axis, to), axis.stride,
                 shift(axis.output) * axis.stride + shift(axis.window));
}

std::int64_t UnitArray::fetched(int m, State from, State to) {
  const TileWords& needed = words(to);
  const State changed = changed_[m];
  const std::int64_t filter = (changed & set_of(kFilterLoops)) != 0 ? needed.filter : 0;
  if ((changed & set_of(kInputSingles)) != 0) return filter + needed.input;
  const auto size = [&](LoopId id) { return cut_[id]->array[at(to, id)]; };
  const std::int64_t kept = size(kLoopN) * size(kLoopG) * size(kLoopC) *
                            kept_rows(axis_[0], m, from, to) * kept_rows(axis_[1], m, from, to);
  return filter + needed.input - kept;
}

}  // namespace gym::exact
