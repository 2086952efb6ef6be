#include "sliding.hpp"

#include <algorithm>

namespace gym::exact {

void SlidingRows::open(const TiledLevel& level, const Variants& outputs, const Variants& windows) {
  spatial_ = level.spatial;
  uncut_window_ = !level.cuts(axis_.window);
  outputs_ = &outputs;
  windows_ = &windows;
  known_ = 0;
}

const SlidingRows::Rows& SlidingRows::rows(Role output, Role window) {
  const std::size_t key = kRoles * static_cast<std::size_t>(output) + static_cast<std::size_t>(window);
  if ((known_ >> key & 1) == 0) {
    known_ |= 1u << key;
    rows_[key] = uncut_window_ ? sum_uncut_window(output) : sum(output, window);
  }
  return rows_[key];
}

// With whole windows a tile of p outputs has p * step + halo rows, of which a neighbour that comes
// d outputs later has all but d * step, and none where windows leave gaps: sums over tiles are
// linear in how many there are and in their outputs.
SlidingRows::Rows SlidingRows::sum_uncut_window(Role role) const {
  const bool spread = spatial_ == axis_.output;
  Rows rows{};
  for (const Variant& window : *windows_) {
    const std::int64_t step = std::min(axis_.stride, window.extent);
    const std::int64_t halo = window.extent - step;
    const auto of = [&](std::int64_t outputs, std::int64_t tiles) {
      return window.boxes * (outputs * step + tiles * halo);
    };
    const auto add = [](Total& total, std::int64_t needed, std::int64_t kept) {
      total.needed += needed;
      total.kept += kept;
    };
    // Rows left of a tile after an advance by so many outputs.
    const auto left = [&](std::int64_t tile, std::int64_t advance) {
      return std::max<std::int64_t>(0, halo - (advance * axis_.stride - tile * step));
    };
    for (const Variant& each : *outputs_) {
      const Cut& cut = each.cut;
      const std::int64_t boxes = each.boxes;
      const std::int64_t moves = cut.steps - 1;
      if (role == Role::outside || (role == Role::inside && moves == 0)) {
        const std::int64_t array = boxes * of(each.extent, cut.steps);
        add(rows.array, array, array);
        const std::int64_t units = boxes * of(each.extent, cut.chunks);
        if (spread) add(rows.units, units, units);
      } else if (role == Role::mover) {
        if (moves == 0) continue;
        const std::int64_t rest = each.extent - cut.array[0];
        const std::int64_t moved = cut.chunks - cut.active[0];
        add(rows.array, boxes * of(rest, moves), boxes * window.boxes * moves * halo);
        if (!spread) continue;
        add(rows.units, boxes * of(rest, moved),
            boxes * window.boxes * moved * left(cut.tile, cut.advance));
      } else {
        const std::int64_t back = moves * cut.advance;
        add(rows.array, boxes * of(cut.array[0], 1),
            boxes * window.boxes * left(cut.array[0], back));
        if (!spread) continue;
        add(rows.units, boxes * of(cut.array[0], cut.active[0]),
            boxes * window.boxes * cut.active[1] * left(cut.tile, back));
      }
    }
  }
  if (!spread) rows.units = rows.array;
  return rows;
}

SlidingRows::Rows SlidingRows::sum(Role output, Role window) {
  list_moves(*outputs_, output, output_moves_);
  list_moves(*windows_, window, window_moves_);
  const bool spread = spatial_ == axis_.output || spatial_ == axis_.window;
  Rows rows{};
  for (const Move& p : output_moves_) {
    for (const Move& r : window_moves_) {
      const std::int64_t weight = p.weight * r.weight;
      const auto add = [weight](const Total& part, Total& total) {
        total.needed += weight * part.needed;
        total.kept += weight * part.kept;
      };
      add(slide(p, r, false), rows.array);
      if (spread) add(slide(p, r, true), rows.units);
    }
  }
  if (!spread) rows.units = rows.array;
  return rows;
}

void SlidingRows::list_moves(const Variants& variants, Role role, Moves& moves) {
  moves.clear();
  for (const Variant& variant : variants) {
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
Total SlidingRows::slide(const Move& p, const Move& r, bool units) const {
  const std::int64_t stride = axis_.stride;
  const std::int64_t shift = p.shift * stride + r.shift;
  const SlidingTile before = {p.cut->array[p.from], r.cut->array[r.from]};
  const SlidingTile after = {p.cut->array[p.to], r.cut->array[r.to]};
  if (!units) {
    return {exact::rows(after, stride), overlap(before, after, stride, shift)};
  }
  const bool along_output = spatial_ == axis_.output;
  const Move& dealt = along_output ? p : r;
  const Cut& cut = *dealt.cut;
  const auto unit = [&](SlidingTile tile, bool tail) {
    (along_output ? tile.outputs : tile.taps) = tail ? cut.tail : cut.tile;
    return tile;
  };
  const std::int64_t active_before = cut.active[dealt.from];
  const std::int64_t active_after = cut.active[dealt.to];
  const std::int64_t both = std::min(active_before, active_after);
  const std::int64_t needed = (active_after - 1) * exact::rows(unit(after, false), stride) +
                              exact::rows(unit(after, dealt.to == 1), stride);
  const std::int64_t kept =
      (both - 1) * overlap(unit(before, false), unit(after, false), stride, shift) +
      overlap(unit(before, both == active_before && dealt.from == 1),
              unit(after, both == active_after && dealt.to == 1), stride, shift);
  return {needed, kept};
}

}  // namespace gym::exact
