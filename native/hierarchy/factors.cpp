#include "factors.hpp"

#include <algorithm>
#include <utility>

#include "../core/integers.hpp"

namespace gym::hierarchy {

namespace {

// The part of a box that is a chunk of it.
std::int64_t chunk_of(std::int64_t box, std::int64_t number, std::int64_t tile) {
  return std::min(tile, box - number * tile);
}

// All positions of a loop outside the cut.
void visit(const Boxes& from, std::int64_t tile, Factor& to) {
  const std::int64_t full = from.after / tile, rest = from.after % tile;
  if (full > 0) to.add({tile, tile, 0, from.times * full, tile, tile});
  if (rest == 0) return;
  const std::int64_t leader = chunk_of(from.leader_after, full, tile);
  to.add({rest, rest, 0, from.times, leader, leader});
}

// All pairs of neighbouring positions.
void advance(const Boxes& from, std::int64_t tile, Factor& to) {
  const std::int64_t full = from.after / tile, rest = from.after % tile;
  if (full > 1) to.add({tile, tile, tile, from.times * (full - 1), tile, tile});
  if (full == 0 || rest == 0) return;
  to.add({tile, rest, tile, from.times, tile, chunk_of(from.leader_after, full, tile)});
}

// From unit 0's last position before the move to the first after it.
void jump(const Boxes& from, std::int64_t tile, Factor& to) {
  const std::int64_t last = ceil_div(from.leader_before, tile) - 1;
  const std::int64_t before = from.before - last * tile;
  if (before <= 0) return;
  to.add({std::min(tile, before), std::min(tile, from.after), from.shift - last * tile, from.times,
          chunk_of(from.leader_before, last, tile), std::min(tile, from.leader_after)});
}

void begin(const Boxes& from, std::int64_t tile, Factor& to) {
  const std::int64_t own = std::min(tile, from.after);
  const std::int64_t leader = std::min(tile, from.leader_after);
  to.add({own, own, 0, from.times, leader, leader});
}

void end(const Boxes& from, std::int64_t tile, Factor& to) {
  const std::int64_t last = ceil_div(from.leader_after, tile) - 1;
  const std::int64_t own = chunk_of(from.after, last, tile);
  const std::int64_t leader = chunk_of(from.leader_after, last, tile);
  if (own > 0) to.add({own, own, 0, from.times, leader, leader});
}

// Units of a fan-out, that count by themselves; one that is idle in either step holds nothing.
void spread(const Boxes& from, std::int64_t tile, Factor& to) {
  const std::int64_t leader_before = std::min(tile, from.leader_before);
  const std::int64_t leader_after = std::min(tile, from.leader_after);
  const std::int64_t full = std::min(from.before, from.after) / tile;
  if (full > 0) to.add({tile, tile, from.shift, from.times * full, leader_before, leader_after});
  const std::int64_t before = chunk_of(from.before, full, tile);
  const std::int64_t after = chunk_of(from.after, full, tile);
  if (before > 0 && after > 0) {
    to.add({before, after, from.shift, from.times, leader_before, leader_after});
  }
}

// The first of them.
void shrink(const Boxes& from, std::int64_t tile, Factor& to) {
  to.add({std::min(tile, from.before), std::min(tile, from.after), from.shift, from.times,
          std::min(tile, from.leader_before), std::min(tile, from.leader_after)});
}

// All as one.
void keep(const Boxes& from, std::int64_t tile, Factor& to) {
  to.add({from.before, from.after, from.shift, from.times, std::min(tile, from.leader_before),
          std::min(tile, from.leader_after)});
}

}  // namespace

// Boxes of one kind count together, so that there are few however many loops there are.
void Factor::add(const Boxes& found) {
  count += found.times;
  size += found.shift == 0 ? found.times * found.after : 0;
  for (Boxes& each : boxes) {
    if (each.before == found.before && each.after == found.after && each.shift == found.shift &&
        each.leader_before == found.leader_before && each.leader_after == found.leader_after) {
      each.times += found.times;
      return;
    }
  }
  boxes.push_back(found);
}

void Factors::open(const Chain& chain) {
  chain_ = &chain;
  prefixes_.clear();
  factors_.clear();
  none_ = prefixes_.take();
  *none_ = {};
  const std::int64_t extent = chain.extent;
  Factor& whole = add_factor(none_, {});
  whole.add({extent, extent, 0, 1, extent, extent});
  // Nothing cuts it: all steps are the same.
  none_->factors[Cut::first] = none_->factors[Cut::last] = &whole;
}

Prefix* Factors::add_prefix(Prefix* outer, Units units) {
  Prefix* added = prefixes_.take();
  *added = {outer->loops + 1, outer, units, {}, {}};
  return added;
}

Factor& Factors::add_factor(Prefix* prefix, Cut cut) {
  Factor* added = factors_.take();
  added->index = cut.index;
  added->count = added->size = 0;
  added->boxes.clear();
  added->next = std::exchange(prefix->factors[cut.kind], added);
  return *added;
}

// From the boxes without the last loop.
const Factor* Factors::sum_up(Prefix* prefix, Cut cut) {
  const int index = prefix->outer->loops;
  const Loop& loop = chain_->loops[static_cast<std::size_t>(index)];
  const bool outside = cut.kind >= Cut::jump && index <= cut.index;
  const Factor* from = find(prefix->outer, outside ? Cut{} : cut);
  Factor& factor = add_factor(prefix, cut);
  const auto each = [&](const auto& step) {
    for (const Boxes& box : from->boxes) step(box, loop.tile, factor);
  };
  if (loop.spatial) {
    constexpr std::array kSteps = {shrink, spread, keep};  // by `Units`
    each(kSteps[static_cast<std::size_t>(prefix->units)]);
  } else if (cut.kind == Cut::first) {
    each(begin);
  } else if (cut.kind == Cut::last) {
    each(end);
  } else if (cut.kind == Cut::all || index < cut.index) {
    each(visit);
  } else if (cut.kind == Cut::advance && index == cut.index) {
    each(advance);
  } else {
    each(jump);
  }
  return &factor;
}

}  // namespace gym::hierarchy
