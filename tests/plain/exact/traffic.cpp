#include "traffic.hpp"

#include <algorithm>
#include <limits>

#include "../integers.hpp"

namespace gym::exact {

namespace {

constexpr std::array kNotFilterLoops = {kLoopN, kLoopP, kLoopQ};
constexpr std::array kReductionLoops = {kLoopC, kLoopR, kLoopS};

constexpr int kNoMover = -1;  // the first step: all loops go to their start

}  // namespace

Traffic::Traffic(const LoopNest& nest) : nest_(nest), loops_(real_loops(nest)) {
  axes_ = {Axis{kLoopP, kLoopR, nest.stride_y}, Axis{kLoopQ, kLoopS, nest.stride_x}};
  for (int d = 0; d < kLoops; ++d) {
    variants_[d].resize(1);
    variants_[d][0] = {1, 1, Cut{}};
    tabulate(static_cast<LoopId>(d));
  }
}

void Traffic::count(const Tiling& tiling, std::array<LevelWords, kMaxLevels>& words) {
  for (const LoopId d : loops_) {
    variants_[d].resize(1);
    variants_[d][0].extent = nest_.extent[d];
    variants_[d][0].boxes = 1;
  }
  for (int j = 0; j < tiling.levels; ++j) {
    if (j > 0) close_level();
    open_level(tiling.level[j]);
    words[j] = count_level();
  }
}

void Traffic::open_level(const TiledLevel& level) {
  level_ = &level;
  known_totals_ = {};
  std::array<std::int64_t, kLoops> tile;
  tile.fill(std::numeric_limits<std::int32_t>::max());
  position_.fill(-1);
  for (int i = 0; i < level.count; ++i) {
    tile[level.loops[i].id] = level.loops[i].tile;
    position_[level.loops[i].id] = i;
  }
  for (const LoopId d : loops_) {
    for (Variant& variant : variants_[d]) {
      cut_loop(variant.extent, tile[d], d == level.spatial ? level.units : 1, variant.cut);
    }
    tabulate(d);
  }
}

void Traffic::tabulate(LoopId id) {
  std::int64_t boxes = 0, steps = 0, chunks = 0, extent = 0, first = 0, last = 0, still = 0;
  std::int64_t active_first = 0, active_last = 0;
  for (const Variant& variant : variants_[id]) {
    const Cut& cut = variant.cut;
    const int start = cut.steps > 1 ? 0 : 1;
    boxes += variant.boxes;
    steps += variant.boxes * cut.steps;
    chunks += variant.boxes * cut.chunks;
    extent += variant.boxes * variant.extent;
    first += variant.boxes * cut.array[start];
    last += variant.boxes * cut.array[1];
    still += cut.steps > 1 ? 0 : variant.boxes * variant.extent;
    active_first += variant.boxes * cut.active[start];
    active_last += variant.boxes * cut.active[1];
  }
  // The tiles of all positions make up the extent, the units at work all chunks.
  auto& [outside, mover, inside] = parts_[id];
  outside = {steps, {extent, extent}, {chunks, chunks}, extent, extent};
  mover = {steps - boxes,
           {extent - first, 0},
           {chunks - active_first, chunks - active_first},
           extent - last,
           0};
  inside = {boxes, {first, still}, {active_first, active_last}, last, still};
}

// The chunks of this level are the boxes of the next.
void Traffic::close_level() {
  for (const LoopId d : loops_) {
    std::vector<Variant>& variants = variants_[d];
    next_.clear();
    const auto add = [&](std::int64_t extent, std::int64_t boxes) {
      for (Variant& each : next_) {
        if (each.extent == extent) {
          each.boxes += boxes;
          return;
        }
      }
      Variant& added = next_.emplace_back();
      added.extent = extent;
      added.boxes = boxes;
    };
    for (const Variant& variant : variants) {
      const Cut& cut = variant.cut;
      if (cut.chunks > 1) add(cut.tile, variant.boxes * (cut.chunks - 1));
      add(cut.tail, variant.boxes);
    }
    variants.swap(next_);
  }
}

LevelWords Traffic::count_level() {
  LevelWords words;
  for (int mover = kNoMover; mover < level_->count; ++mover) {
    assign_roles(mover);
    const bool moves = mover != kNoMover;
    add_input(moves, words);
    add_filter(moves, words);
    words.leaving += leaving(moves);
  }
  return words;
}

void Traffic::assign_roles(int mover) {
  for (int d = 0; d < kLoops; ++d) {
    const int position = position_[d];
    roles_[d] = position < 0 || position < mover ? Role::outside
                : position == mover              ? Role::mover
                                                 : Role::inside;
  }
}

void Traffic::add_filter(bool moves, LevelWords& words) const {
  Total total{1, moves ? 1 : 0};
  for (const LoopId id : kFilterLoops) {
    total.needed *= part(id).size.needed;
    total.kept *= part(id).size.kept;
  }
  Total units = total;
  for (const LoopId id : kNotFilterLoops) {
    const std::int64_t times = part(id).times;
    total.needed *= times;
    total.kept *= times;
    const bool copied = id == level_->spatial;  // every unit has its own
    units.needed *= copied ? part(id).units.needed : times;
    units.kept *= copied ? part(id).units.kept : times;
  }
  words.fetched_filter += total.needed - total.kept;
  words.unit_filter += units.needed - units.kept;
}

void Traffic::add_input(bool moves, LevelWords& words) {
  Total total{1, moves ? 1 : 0};
  for (const LoopId id : kInputSingles) {
    total.needed *= part(id).size.needed;
    total.kept *= part(id).size.kept;
  }
  Total units = total;
  const Part& filters = part(kLoopK);
  const bool copied = level_->spatial == kLoopK;  // every unit has its own
  total.needed *= filters.times;
  total.kept *= filters.times;
  units.needed *= copied ? filters.units.needed : filters.times;
  units.kept *= copied ? filters.units.kept : filters.times;
  for (std::size_t index = 0; index < axes_.size(); ++index) {
    const AxisTotals& rows = axis(index);
    total.needed *= rows.array.needed;
    total.kept *= rows.array.kept;
    units.needed *= rows.units.needed;
    units.kept *= rows.units.kept;
  }
  words.fetched_input += total.needed - total.kept;
  words.unit_input += units.needed - units.kept;
}

// Rows of a sliding axis over all moves of both its loops.
const Traffic::AxisTotals& Traffic::axis(std::size_t index) {
  const Axis& axis = axes_[index];
  const Role output = roles_[axis.output];
  const Role window = roles_[axis.window];
  const std::size_t key = 3 * static_cast<std::size_t>(output) + static_cast<std::size_t>(window);
  AxisTotals& totals = axis_totals_[index][key];
  if ((known_totals_[index] >> key & 1) == 0) {
    known_totals_[index] |= 1u << key;
    totals = sum_axis(axis, output, window);
  }
  return totals;
}

Traffic::AxisTotals Traffic::sum_axis(const Axis& axis, Role output, Role window) {
  list_moves(axis.output, output, output_moves_);
  list_moves(axis.window, window, window_moves_);
  const bool spread = level_->spatial == axis.output || level_->spatial == axis.window;
  AxisTotals totals{{0, 0}, {0, 0}};
  for (const AxisMove& p : output_moves_) {
    for (const AxisMove& r : window_moves_) {
      const std::int64_t weight = p.weight * r.weight;
      const auto add = [weight](const Total& part, Total& total) {
        total.needed += weight * part.needed;
        total.kept += weight * part.kept;
      };
      add(slide(axis, p, r, false), totals.array);
      if (spread) add(slide(axis, p, r, true), totals.units);
    }
  }
  if (!spread) totals.units = totals.array;
  return totals;
}

void Traffic::list_moves(LoopId id, Role role, Moves& moves) const {
  moves.clear();
  for (const Variant& variant : variants_[id]) {
    const Cut& cut = variant.cut;
    const std::int64_t boxes = variant.boxes;
    if (cut.steps == 1) {
      if (role != Role::mover) moves.push_back({boxes, &cut, 1, 1, 0});
    } else if (role == Role::outside) {
      moves.push_back({boxes * (cut.steps - 1), &cut, 0, 0, 0});
      moves.push_back({boxes, &cut, 1, 1, 0});
    } else if (role == Role::mover) {
      if (cut.steps > 2) moves.push_back({boxes * (cut.steps - 2), &cut, 0, 0, cut.advance});
      moves.push_back({boxes, &cut, 0, 1, cut.advance});
    } else {
      moves.push_back({boxes, &cut, 1, 0, -(cut.steps - 1) * cut.advance});
    }
  }
}

// Rows of the tile after a move, and of those that were there before it; summed over the units if
// `units`, where the spatial loop is one of the axis.
Traffic::Total Traffic::slide(const Axis& axis, const AxisMove& p, const AxisMove& r,
                              bool units) const {
  const std::int64_t shift = p.shift * axis.stride + r.shift;
  const SlidingTile before = {p.cut->array[p.from], r.cut->array[r.from]};
  const SlidingTile after = {p.cut->array[p.to], r.cut->array[r.to]};
  if (!units) {
    return {rows(after, axis.stride), overlap(before, after, axis.stride, shift)};
  }
  const bool along_output = level_->spatial == axis.output;
  const AxisMove& dealt = along_output ? p : r;
  const Cut& cut = *dealt.cut;
  const auto unit = [&](SlidingTile tile, bool tail) {
    (along_output ? tile.outputs : tile.taps) = tail ? cut.tail : cut.tile;
    return tile;
  };
  const std::int64_t active_before = cut.active[dealt.from];
  const std::int64_t active_after = cut.active[dealt.to];
  const std::int64_t both = std::min(active_before, active_after);
  const std::int64_t needed = (active_after - 1) * rows(unit(after, false), axis.stride) +
                              rows(unit(after, dealt.to == 1), axis.stride);
  const std::int64_t kept =
      (both - 1) * overlap(unit(before, false), unit(after, false), axis.stride, shift) +
      overlap(unit(before, both == active_before && dealt.from == 1),
              unit(after, both == active_after && dealt.to == 1), axis.stride, shift);
  return {needed, kept};
}

// Output words that leave as the mover moves on: none if no loop of the output moves with it. The
// first step's place is taken by the tiles left over at the end of a box: the last ones, moved or
// not.
std::int64_t Traffic::leaving(bool moves) const {
  std::int64_t all = 1;
  std::int64_t unmoved = 1;
  for (const LoopId id : kOutputLoops) {
    all *= part(id).before;
    unmoved *= part(id).unmoved;
  }
  for (const LoopId id : kReductionLoops) {
    all *= part(id).times;
    unmoved *= part(id).times;
  }
  return moves ? all - unmoved : all;
}

std::int64_t Traffic::busy_pe_cycles(std::int64_t simd_lanes) const {
  std::int64_t total = 0;
  const auto visit = [&](auto&& self, int d, std::int64_t macs, std::int64_t tiles) -> void {
    if (d == kLoops) {
      total += tiles * ceil_div(macs, simd_lanes);
      return;
    }
    for (const Variant& each : variants_[d]) {
      const Cut& cut = each.cut;
      self(self, d + 1, macs * cut.tail, tiles * each.boxes);
      if (cut.chunks > 1) self(self, d + 1, macs * cut.tile, tiles * each.boxes * (cut.chunks - 1));
    }
  };
  visit(visit, 0, 1, 1);
  return total;
}

}  // namespace gym::exact
