#include "factors.hpp"

#include <algorithm>

#include "../core/integers.hpp"

namespace gym::hierarchy {

namespace {

// The part of a box that is a chunk of it.
std::int64_t chunk_of(std::int64_t box, std::int64_t number, std::int64_t tile) {
  return std::min(tile, box - number * tile);
}

}  // namespace

void Factors::open(const Chain& chain, bool listed) {
  chain_ = &chain;
  listed_ = listed;
  ++opened_;
  factors_.clear();
  boxes_.clear();
}

int Factors::sum_up(int above, Cut cut, View view) {
  walk(above, cut, view);
  Factor factor;
  factor.first = static_cast<int>(boxes_.size());
  for (const Walked& each : now_) {
    factor.count += each.own.times;
    if (each.own.shift == 0) factor.size += each.own.times * each.own.after;
    if (listed_) boxes_.push_back(each.own);
  }
  factor.kinds = static_cast<int>(boxes_.size()) - factor.first;
  factors_.push_back(factor);
  return static_cast<int>(factors_.size()) - 1;
}

void Factors::walk(int above, Cut cut, View view) {
  const std::int64_t extent = chain_->extent;
  now_.assign(1, {{extent, extent, 0, 1}, extent, extent});
  for (int index = 0; index < above; ++index) step(chain_->loops[index], cut, index, view);
}

void Factors::step(const Loop& loop, Cut cut, int index, View view) {
  next_.clear();
  for (const Walked& each : now_) {
    if (loop.spatial) {
      spread(each, loop, view);
    } else if (cut.kind == Cut::first) {
      begin(each, loop.tile);
    } else if (cut.kind == Cut::last) {
      end(each, loop.tile);
    } else if (cut.kind == Cut::all || index < cut.index) {
      visit(each, loop.tile);
    } else if (cut.kind == Cut::advance && index == cut.index) {
      advance(each, loop.tile);
    } else {
      jump(each, loop.tile);
    }
  }
  now_.swap(next_);
}

// All positions of a loop outside the cut.
void Factors::visit(const Walked& from, std::int64_t tile) {
  const std::int64_t box = from.own.after, full = box / tile, rest = box % tile;
  if (full > 0) add({{tile, tile, 0, from.own.times * full}, tile, tile});
  if (rest == 0) return;
  const std::int64_t leader = chunk_of(from.leader_after, full, tile);
  add({{rest, rest, 0, from.own.times}, leader, leader});
}

// All pairs of neighbouring positions.
void Factors::advance(const Walked& from, std::int64_t tile) {
  const std::int64_t box = from.own.after, full = box / tile, rest = box % tile;
  if (full > 1) add({{tile, tile, tile, from.own.times * (full - 1)}, tile, tile});
  if (full == 0 || rest == 0) return;
  add({{tile, rest, tile, from.own.times}, tile, chunk_of(from.leader_after, full, tile)});
}

// From unit 0's last position before the move to the first after it.
void Factors::jump(const Walked& from, std::int64_t tile) {
  const std::int64_t last = ceil_div(from.leader_before, tile) - 1;
  const std::int64_t before = from.own.before - last * tile;
  if (before <= 0) return;
  const Boxes own = {std::min(tile, before), std::min(tile, from.own.after),
                     from.own.shift - last * tile, from.own.times};
  add({own, chunk_of(from.leader_before, last, tile), std::min(tile, from.leader_after)});
}

void Factors::begin(const Walked& from, std::int64_t tile) {
  const std::int64_t own = std::min(tile, from.own.after);
  const std::int64_t leader = std::min(tile, from.leader_after);
  add({{own, own, 0, from.own.times}, leader, leader});
}

void Factors::end(const Walked& from, std::int64_t tile) {
  const std::int64_t last = ceil_div(from.leader_after, tile) - 1;
  const std::int64_t own = chunk_of(from.own.after, last, tile);
  const std::int64_t leader = chunk_of(from.leader_after, last, tile);
  if (own > 0) add({{own, own, 0, from.own.times}, leader, leader});
}

// Units of a fan-out; one that is idle in either step holds nothing.
void Factors::spread(const Walked& from, const Loop& loop, View view) {
  const std::int64_t tile = loop.tile;
  const Boxes& own = from.own;
  const std::int64_t leader_before = std::min(tile, from.leader_before);
  const std::int64_t leader_after = std::min(tile, from.leader_after);
  const auto keep = [&](std::int64_t before, std::int64_t after, std::int64_t times) {
    add({{before, after, own.shift, own.times * times}, leader_before, leader_after});
  };
  if ((view.whole >> loop.number & 1) != 0) return keep(own.before, own.after, 1);
  if ((view.apart >> loop.number & 1) == 0) {
    return keep(std::min(tile, own.before), std::min(tile, own.after), 1);
  }
  const std::int64_t full = std::min(own.before, own.after) / tile;
  if (full > 0) keep(tile, tile, full);
  const std::int64_t before = chunk_of(own.before, full, tile);
  const std::int64_t after = chunk_of(own.after, full, tile);
  if (before > 0 && after > 0) keep(before, after, 1);
}

// Boxes of one kind count together, so that there are few however many loops there are.
void Factors::add(const Walked& walked) {
  for (Walked& each : next_) {
    const Boxes &a = each.own, &b = walked.own;
    if (a.before == b.before && a.after == b.after && a.shift == b.shift &&
        each.leader_before == walked.leader_before && each.leader_after == walked.leader_after) {
      each.own.times += walked.own.times;
      return;
    }
  }
  next_.push_back(walked);
}

}  // namespace gym::hierarchy
