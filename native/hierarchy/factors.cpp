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

// Units of a fan-out; one that is idle in either step holds nothing.
void spread(const Boxes& from, std::int64_t tile, Units units, Factor& to) {
  const std::int64_t leader_before = std::min(tile, from.leader_before);
  const std::int64_t leader_after = std::min(tile, from.leader_after);
  const auto keep = [&](std::int64_t before, std::int64_t after, std::int64_t times) {
    to.add({before, after, from.shift, from.times * times, leader_before, leader_after});
  };
  if (units == Units::whole) return keep(from.before, from.after, 1);
  if (units == Units::first)
    return keep(std::min(tile, from.before), std::min(tile, from.after), 1);
  const std::int64_t full = std::min(from.before, from.after) / tile;
  if (full > 0) keep(tile, tile, full);
  const std::int64_t before = chunk_of(from.before, full, tile);
  const std::int64_t after = chunk_of(from.after, full, tile);
  if (before > 0 && after > 0) keep(before, after, 1);
}

// What the loop with an index in its chain makes of a box.
void step(const Boxes& from, const Loop& loop, Units units, Cut cut, int index, Factor& to) {
  if (loop.spatial) {
    spread(from, loop.tile, units, to);
  } else if (cut.kind == Cut::first) {
    begin(from, loop.tile, to);
  } else if (cut.kind == Cut::last) {
    end(from, loop.tile, to);
  } else if (cut.kind == Cut::all || index < cut.index) {
    visit(from, loop.tile, to);
  } else if (cut.kind == Cut::advance && index == cut.index) {
    advance(from, loop.tile, to);
  } else {
    jump(from, loop.tile, to);
  }
}

}  // namespace

// Boxes of one kind count together, so that there are few however many loops there are.
void Factor::add(const Boxes& found) {
  count += found.times;
  if (found.shift == 0) size += found.times * found.after;
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
  none_ = add_prefix(nullptr, {});
  const std::int64_t extent = chain.extent;
  Factor& whole = add_factor(none_, {});
  whole.add({extent, extent, 0, 1, extent, extent});
  // Nothing cuts it: all steps are the same.
  none_->factors[Cut::first] = none_->factors[Cut::last] = &whole;
}

Prefix* Factors::add_prefix(Prefix* outer, Units units) {
  Prefix* added = prefixes_.take();
  *added = {outer == nullptr ? 0 : outer->loops + 1, outer, units, {}, {}};
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
  for (const Boxes& each : from->boxes) step(each, loop, prefix->units, cut, index, factor);
  return &factor;
}

}  // namespace gym::hierarchy
