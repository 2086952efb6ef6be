#include "traffic.hpp"

#include "../core/integers.hpp"

namespace gym::exact {

Traffic::Traffic(const LoopNest& nest, const Partition& partition)
    : nest_(nest),
      partition_(partition),
      loops_(real_loops(nest)),
      axes_{SlidingRows(nest, {kLoopP, kLoopR, nest.stride_y}),
            SlidingRows(nest, {kLoopQ, kLoopS, nest.stride_x})} {}

void Traffic::count(const Tiling& tiling, std::array<LevelWords, kMaxLevels>& words) {
  for (int j = 0; j < tiling.levels; ++j) words[j] = count_level(j, tiling.level[j]);
}

LevelWords Traffic::count_level(int j, const TiledLevel& level) {
  LevelWords words;
  words.fetched_filter = moved(j, level, kFilterLoops, kLoops);
  // Units have copies of what no axis deals to them.
  words.unit_filter = level.spatial == kLoops || has(kFilterLoops, level.spatial)
                          ? words.fetched_filter
                          : moved(j, level, kFilterLoops, level.spatial);
  words.leaving = moved(j, level, kOutputLoops, kLoops);
  add_input(j, level, words);
  return words;
}

// Words of a tensor without sliding axes that are new in a step or, as many, leave after it. Tiles
// add up to the tensor along its own loops; others repeat it step by step, one of them perhaps unit
// by unit. A tile stays as long as no loop of its own moves.
std::int64_t Traffic::moved(int j, const TiledLevel& level, LoopSet tensor, LoopId copied) const {
  const auto factor = [&](LoopId id) -> const Factor& {
    const Share copies = id == copied ? Share::copies_for_units : Share::copies;
    return partition_.factor(j, id, has(tensor, id) ? Share::own : copies);
  };
  std::int64_t all = 1;
  for (const LoopId id : loops_) all *= level.cuts(id) ? 1 : factor(id).outside;
  std::int64_t stays = 0;
  std::int64_t inside = all;  // what stays of it while all loops so far go back to their start
  for (int m = level.count; m-- > 0;) {
    const Factor& loop = factor(level.order[m]);
    stays = loop.mover * inside + loop.outside * stays;
    all *= loop.outside;
    inside *= loop.inside;
  }
  return all - stays;
}

void Traffic::add_input(int j, const TiledLevel& level, LevelWords& words) {
  for (SlidingRows& axis : axes_) axis.open(partition_, j, level);
  std::array<Role, kLoops> roles{};  // all outside
  // Copies for every filter, in arrays and in units.
  const auto copies = [&]() -> SlidingRows::Rows {
    const Sums& sums = partition_.sums(j, kLoopK);
    const bool spatial = level.spatial == kLoopK;
    switch (roles[kLoopK]) {
      case Role::outside:
        return {sums.steps, spatial ? sums.chunks : sums.steps};
      case Role::mover:
        return {sums.moves(), spatial ? sums.moved_units() : sums.moves()};
      default:
        return {sums.boxes, spatial ? sums.active_last : sums.boxes};
    }
  };
  const auto product = [&](std::int64_t singles) -> SlidingRows::Rows {
    const SlidingRows::Rows k = copies();
    const SlidingRows::Rows& y = axes_[0].kept(roles[kLoopP], roles[kLoopR]);
    const SlidingRows::Rows& x = axes_[1].kept(roles[kLoopQ], roles[kLoopS]);
    return {singles * k.array * y.array * x.array, singles * k.units * y.units * x.units};
  };
  std::int64_t outside = 1;  // along axes of one loop
  for (const LoopId id : loops_) outside *= has(kInputSingles, id) ? nest_.extent[id] : 1;
  const SlidingRows::Rows all = product(outside);
  words.fetched_input = all.array;
  words.unit_input = all.units;
  std::int64_t inside = 1;
  for (int m = level.count; m-- > 0 && inside != 0;) {
    const LoopId id = level.order[m];
    if (has(kInputSingles, id)) {
      outside /= nest_.extent[id];
      inside *= partition_.sums(j, id).still;
    } else {
      roles[id] = Role::mover;
      const SlidingRows::Rows stays = product(outside * inside);
      words.fetched_input -= stays.array;
      words.unit_input -= stays.units;
    }
    roles[id] = Role::inside;
  }
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
