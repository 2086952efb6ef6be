#include "traffic.hpp"

#include <algorithm>

#include "../core/integers.hpp"

namespace gym::exact {

void SlidingRows::open(const Partition& partition, int j, const TiledLevel& level) {
  spatial_ = level.spatial;
  tile_ = level.tile[axis_.output];
  units_ = level.units_of(axis_.output);
  uncut_window_ = !level.cuts(axis_.window);
  sums_ = &partition.sums(j, axis_.output);
  window_sums_ = &partition.sums(j, axis_.window);
  outputs_ = partition.of(j, axis_.output);
  windows_ = partition.of(j, axis_.window);
  known_ = 0;
  output_moves_.clear();
  window_moves_.clear();
}

const SlidingRows::Rows& SlidingRows::kept(Role output, Role window) {
  const auto key = kRoles * static_cast<std::size_t>(output) + static_cast<std::size_t>(window);
  if ((known_ >> key & 1) == 0) {
    known_ |= 1u << key;
    if (uncut_window_) {
      rows_[key] = sum_uncut_window(output);
    } else if (const auto rows = sum_of_stride_one(output, window)) {
      rows_[key] = *rows;
    } else {
      rows_[key] = sum(output, window);
    }
  }
  return rows_[key];
}

SlidingRows::Rows SlidingRows::sum_uncut_window(Role output) const {
  Rows rows{};
  for (const Variant& window : windows_) {
    const Rows part = sum_one_window(output, window.extent);
    rows.array += window.boxes * part.array;
    rows.units += window.boxes * part.units;
  }
  if (spatial_ != axis_.output) rows.units = rows.array;
  return rows;
}

// With whole windows a tile of p outputs has p * step + halo rows, of which one that comes d
// outputs later has all but d * step, and none where windows leave gaps: sums over tiles are linear
// in how many there are and in their outputs.
SlidingRows::Rows SlidingRows::sum_one_window(Role output, std::int64_t taps) const {
  const Sums& sums = *sums_;
  const std::int64_t step = std::min(axis_.stride, taps);
  const std::int64_t halo = taps - step;
  // Rows left of a tile after an advance by so many outputs.
  const auto left = [&](std::int64_t tile, std::int64_t advance) {
    return std::max<std::int64_t>(0, halo - (advance * axis_.stride - tile * step));
  };
  if (output == Role::outside) {
    const std::int64_t own = extent_ * step;
    return {own + sums.steps * halo, own + sums.chunks * halo};
  }
  if (output == Role::mover) {
    if (halo == 0) return {0, 0};
    return {sums.moves() * halo, sums.moved_units() * left(tile_, units_ * tile_)};
  }
  const std::int64_t own = sums.still * step;
  Rows rows = {own + sums.still_boxes * halo, own + sums.still_chunks * halo};
  if (halo == 0) return rows;
  for (const Variant& each : outputs_) {
    const Cut& cut = each.cut;
    if (cut.steps == 1) continue;
    const std::int64_t back = (cut.steps - 1) * cut.advance;
    rows.array += each.boxes * left(cut.advance, back);
    rows.units += each.boxes * cut.active[1] * left(cut.tile, back);
  }
  return rows;
}

// A tile of p outputs and r taps has p - 1 + r rows. As one of the loops advances, what stays is as
// long as the tile in the other loop, less one: sums over tiles are again linear in how many there
// are and in their extents. None if a loop goes back, or advances unit by unit.
std::optional<SlidingRows::Rows> SlidingRows::sum_of_stride_one(Role output, Role window) const {
  const bool both = output == Role::outside && window == Role::outside;
  const bool advances = output == Role::mover && window == Role::outside;
  if (axis_.stride > 1 ||
      (!both && !advances && (output != Role::outside || window != Role::mover))) {
    return std::nullopt;
  }
  if (!both && spatial_ == (advances ? axis_.output : axis_.window)) return std::nullopt;
  const auto rows = [&](std::int64_t outputs, std::int64_t windows) {
    if (advances) return sums_->moves() * (taps_ - windows);
    if (!both) return (extent_ - outputs) * window_sums_->moves();
    return (extent_ - outputs) * windows + outputs * taps_;
  };
  return Rows{rows(sums_->steps, window_sums_->steps),
              rows(spatial_ == axis_.output ? sums_->chunks : sums_->steps,
                   spatial_ == axis_.window ? window_sums_->chunks : window_sums_->steps)};
}

SlidingRows::Rows SlidingRows::sum(Role output, Role window) {
  const Moves& output_moves = output_moves_.of(outputs_, output);
  const Moves& window_moves = window_moves_.of(windows_, window);
  const bool spread = spatial_ == axis_.output || spatial_ == axis_.window;
  Rows rows{};
  for (const Move& p : output_moves) {
    for (const Move& r : window_moves) {
      const std::int64_t weight = p.weight * r.weight;
      rows.array += weight * array_rows(p, r);
      if (spread) rows.units += weight * unit_rows(p, r);
    }
  }
  if (!spread) rows.units = rows.array;
  return rows;
}

void SlidingRows::Moves::list(Variants variants, Role role) {
  count_ = 0;
  for (const Variant& variant : variants) {
    const Cut& cut = variant.cut;
    const std::int64_t boxes = variant.boxes;
    if (cut.steps == 1) {
      if (role != Role::mover) add({boxes, &cut, 1, 1, 0});
    } else if (role == Role::outside) {
      add({boxes * (cut.steps - 1), &cut, 0, 0, 0});
      add({boxes, &cut, 1, 1, 0});
    } else if (role == Role::mover) {
      if (cut.steps > 2) add({boxes * (cut.steps - 2), &cut, 0, 0, cut.advance});
      add({boxes, &cut, 0, 1, cut.advance});
    } else {
      add({boxes, &cut, 1, 0, -(cut.steps - 1) * cut.advance});
    }
  }
}

// Rows of the array's tile after a move that were there before it.
std::int64_t SlidingRows::array_rows(const Move& p, const Move& r) const {
  const SlidingTile before = {p.cut->array[p.from], r.cut->array[r.from]};
  const SlidingTile after = {p.cut->array[p.to], r.cut->array[r.to]};
  return overlap(before, after, axis_.stride, p.shift * axis_.stride + r.shift);
}

// The same for every unit, where the spatial loop is one of the axis.
std::int64_t SlidingRows::unit_rows(const Move& p, const Move& r) const {
  const bool along_output = spatial_ == axis_.output;
  const Move& dealt = along_output ? p : r;
  const Cut& cut = *dealt.cut;
  const auto unit = [&](std::int64_t outputs, std::int64_t taps, bool tail) -> SlidingTile {
    const std::int64_t size = tail ? cut.tail : cut.tile;
    return along_output ? SlidingTile{size, taps} : SlidingTile{outputs, size};
  };
  const auto before = [&](bool tail) {
    return unit(p.cut->array[p.from], r.cut->array[r.from], tail);
  };
  const auto after = [&](bool tail) { return unit(p.cut->array[p.to], r.cut->array[r.to], tail); };
  const std::int64_t active_before = cut.active[dealt.from];
  const std::int64_t active_after = cut.active[dealt.to];
  const std::int64_t both = std::min(active_before, active_after);
  const std::int64_t shift = p.shift * axis_.stride + r.shift;
  return (both - 1) * overlap(before(false), after(false), axis_.stride, shift) +
         overlap(before(both == active_before && dealt.from == 1),
                 after(both == active_after && dealt.to == 1), axis_.stride, shift);
}

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
