#include "traffic.hpp"

#include <algorithm>

#include "../integers.hpp"

namespace gym::exact {

namespace {

constexpr std::array kNotFilterLoops = {kLoopN, kLoopP, kLoopQ};
constexpr std::array kNotInputLoops = {kLoopK};
constexpr std::array kReductionLoops = {kLoopC, kLoopR, kLoopS};

constexpr int kNoMover = -1;  // the first step: all loops go to their start

template <std::size_t n>
std::vector<LoopId> common(const std::array<LoopId, n>& some, const std::vector<LoopId>& loops) {
  std::vector<LoopId> both;
  for (const LoopId id : some) {
    if (std::find(loops.begin(), loops.end(), id) != loops.end()) both.push_back(id);
  }
  return both;
}

}  // namespace

Traffic::Traffic(const LoopNest& nest, const Partition& partition)
    : nest_(nest),
      partition_(partition),
      loops_(real_loops(nest)),
      filter_(common(kFilterLoops, loops_)),
      not_filter_(common(kNotFilterLoops, loops_)),
      input_singles_(common(kInputSingles, loops_)),
      not_input_(common(kNotInputLoops, loops_)),
      output_(common(kOutputLoops, loops_)),
      reduction_(common(kReductionLoops, loops_)),
      axes_{SlidingRows({kLoopP, kLoopR, nest.stride_y}),
            SlidingRows({kLoopQ, kLoopS, nest.stride_x})} {
  for (int d = 0; d < kLoops; ++d) play(static_cast<LoopId>(d), Role::outside);
}

void Traffic::count(const Tiling& tiling, std::array<LevelWords, kMaxLevels>& words) {
  for (int j = 0; j < tiling.levels; ++j) {
    open_level(j, tiling.level[j]);
    words[j] = count_level(tiling.level[j]);
  }
}

void Traffic::open_level(int j, const TiledLevel& level) {
  spatial_ = level.spatial;
  for (const LoopId id : loops_) {
    const Variants& variants = partition_.of(j, id);
    if (level.cuts(id)) {
      tabulate(id, variants);
      play(id, Role::inside);
      continue;
    }
    std::int64_t boxes = 0;
    for (const Variant& each : variants) boxes += each.boxes;
    const std::int64_t extent = nest_.extent[id];
    parts_[id][0] = {boxes, {extent, extent}, {boxes, boxes}, extent, extent};
    play(id, Role::outside);
  }
  axes_[0].open(level, partition_.of(j, kLoopP), partition_.of(j, kLoopR));
  axes_[1].open(level, partition_.of(j, kLoopQ), partition_.of(j, kLoopS));
}

// The tiles of all positions of all boxes make up the extent, the units at work all chunks.
void Traffic::tabulate(LoopId id, const Variants& variants) {
  const std::int64_t extent = nest_.extent[id];
  std::int64_t boxes = 0, steps = 0, chunks = 0, first = 0, last = 0, still = 0;
  std::int64_t active_first = 0, active_last = 0;
  for (const Variant& variant : variants) {
    const Cut& cut = variant.cut;
    const int start = cut.steps > 1 ? 0 : 1;
    boxes += variant.boxes;
    steps += variant.boxes * cut.steps;
    chunks += variant.boxes * cut.chunks;
    first += variant.boxes * cut.array[start];
    last += variant.boxes * cut.array[1];
    still += cut.steps > 1 ? 0 : variant.boxes * variant.extent;
    active_first += variant.boxes * cut.active[start];
    active_last += variant.boxes * cut.active[1];
  }
  auto& [outside, mover, inside] = parts_[id];
  outside = {steps, {extent, extent}, {chunks, chunks}, extent, extent};
  mover = {steps - boxes,
           {extent - first, 0},
           {chunks - active_first, chunks - active_first},
           extent - last,
           0};
  inside = {boxes, {first, still}, {active_first, active_last}, last, still};
}

void Traffic::play(LoopId id, Role role) {
  roles_[id] = role;
  part_[id] = &parts_[id][static_cast<std::size_t>(role)];
}

LevelWords Traffic::count_level(const TiledLevel& level) {
  LevelWords words;
  for (int mover = kNoMover; mover < level.count; ++mover) {
    if (mover > 0) play(level.order[mover - 1], Role::outside);
    const bool moves = mover != kNoMover;
    if (moves) play(level.order[mover], Role::mover);
    add_input(moves, words);
    add_filter(moves, words);
    words.leaving += leaving(moves);
  }
  return words;
}

// Loops that no axis of a tensor has repeat it; the spatial one, for every unit.
void Traffic::copy_to_units(const Loops& loops, Total& total, Total& units) const {
  for (const LoopId id : loops) {
    const Part& part = *part_[id];
    total.needed *= part.times;
    total.kept *= part.times;
    units.needed *= id == spatial_ ? part.units.needed : part.times;
    units.kept *= id == spatial_ ? part.units.kept : part.times;
  }
}

void Traffic::add_filter(bool moves, LevelWords& words) const {
  Total total{1, moves ? 1 : 0};
  for (const LoopId id : filter_) {
    total.needed *= part_[id]->size.needed;
    total.kept *= part_[id]->size.kept;
  }
  Total units = total;
  copy_to_units(not_filter_, total, units);
  words.fetched_filter += total.needed - total.kept;
  words.unit_filter += units.needed - units.kept;
}

void Traffic::add_input(bool moves, LevelWords& words) {
  Total total{1, moves ? 1 : 0};
  for (const LoopId id : input_singles_) {
    total.needed *= part_[id]->size.needed;
    total.kept *= part_[id]->size.kept;
  }
  Total units = total;
  copy_to_units(not_input_, total, units);
  const SlidingRows::Rows& y = axes_[0].rows(roles_[kLoopP], roles_[kLoopR]);
  const SlidingRows::Rows& x = axes_[1].rows(roles_[kLoopQ], roles_[kLoopS]);
  words.fetched_input +=
      total.needed * y.array.needed * x.array.needed - total.kept * y.array.kept * x.array.kept;
  words.unit_input +=
      units.needed * y.units.needed * x.units.needed - units.kept * y.units.kept * x.units.kept;
}

// Output words that leave as the mover moves on: none if no loop of the output moves with it. The
// first step's place is taken by the tiles left over at the end of a box: the last ones, moved or
// not.
std::int64_t Traffic::leaving(bool moves) const {
  std::int64_t all = 1;
  std::int64_t unmoved = 1;
  for (const LoopId id : output_) {
    all *= part_[id]->before;
    unmoved *= part_[id]->unmoved;
  }
  for (const LoopId id : reduction_) {
    all *= part_[id]->times;
    unmoved *= part_[id]->times;
  }
  return moves ? all - unmoved : all;
}

std::int64_t Traffic::busy_pe_cycles(const Tiling& tiling, std::int64_t simd_lanes) const {
  std::int64_t total = 0;
  const auto visit = [&](auto&& self, int d, std::int64_t macs, std::int64_t tiles) -> void {
    if (d == kLoops) {
      total += tiles * ceil_div(macs, simd_lanes);
      return;
    }
    for (const Variant& each : partition_.of(tiling.levels - 1, static_cast<LoopId>(d))) {
      const Cut& cut = each.cut;
      self(self, d + 1, macs * cut.tail, tiles * each.boxes);
      if (cut.chunks > 1) self(self, d + 1, macs * cut.tile, tiles * each.boxes * (cut.chunks - 1));
    }
  };
  visit(visit, 0, 1, 1);
  return total;
}

}  // namespace gym::exact
