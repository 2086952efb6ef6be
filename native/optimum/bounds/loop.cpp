#include "loop.hpp"

#include <algorithm>
#include <cmath>

#include "../../core/integers.hpp"

namespace gym::optimum {

namespace {

// How a tile cuts an extent whose chunks are dealt to so many units.
struct Cut {
  Index extent, tile, units;
  Index chunks = ceil_div(extent, tile);
  Index steps = ceil_div(chunks, units);

  Index last_chunk() const { return extent - (chunks - 1) * tile; }
  Index last_array() const { return extent - (steps - 1) * tile * units; }
  // Indices that the first unit gets.
  Index share() const { return (steps - 1) * tile + std::min(tile, last_array()); }
};

// The pieces that a level receives: the first ones are of full size, the last one may be smaller.
// If there is one, it is of full size.
struct Pieces {
  Index count, size, last;
  Index largest;  // indices at most
  Index total;    // indices in all of them
  bool known;     // whether count, size and last are exact, or the least they can be

  Index many() const { return count - 1; }
};

// Rows that two windows' ranges share, the second beginning so many outputs behind the first's end.
double overlap(const Loop& loop, Index distance) {
  return static_cast<double>(std::max<Index>(0, loop.taps - (distance + 1) * loop.stride));
}

LevelCounts sum_over(const Loop& loop, const Pieces& pieces, Sizes tile, Units units) {
  const Cut large{pieces.size, tile.most, units.most};
  const Cut small{pieces.last, tile.most, units.most};
  const Index many = pieces.many();
  const bool all_move = many == 0 || (pieces.known && small.steps > 1);
  LevelCounts counts;
  counts.extent = static_cast<double>(pieces.total);
  counts.pieces = static_cast<double>(pieces.count);
  counts.steps = static_cast<double>(
      std::max(many * large.steps + small.steps, ceil_div(pieces.total, tile.most * units.most)));
  counts.chunks = static_cast<double>(
      std::max(many * large.chunks + small.chunks, ceil_div(pieces.total, tile.most)));
  counts.active = static_cast<double>(many * std::min(units.least, large.chunks) +
                                      std::min(units.least, small.chunks));
  counts.restarts = static_cast<double>(all_move ? pieces.count : many);
  counts.regained = static_cast<double>(many * large.chunks + (all_move ? small.chunks : 0));
  counts.moving = static_cast<double>(all_move ? pieces.total : many * pieces.size);
  const Cut smallest{pieces.last, std::min(tile.least, pieces.last), units.least};
  // The last piece may take fewer steps than the others, or none.
  Index steps = 2;
  if (pieces.known && (many == 0 || smallest.steps == 1)) steps = large.steps;
  if (pieces.known && small.steps > 1) steps = std::min(large.steps, small.steps);
  steps = std::max<Index>(2, steps);
  counts.kept = overlap(loop, (steps - 2) * units.least * tile.least);
  counts.shared = overlap(loop, (units.least - 1) * tile.least);
  const Index array = units.least * tile.least;
  counts.begun = static_cast<double>(many * std::min(pieces.size, array) +
                                     (all_move ? std::min(pieces.last, array) : 0));
  counts.ended = counts.restarts;
  if (pieces.known && tile.single() && units.single()) {
    const Cut last{pieces.last, std::min(tile.least, pieces.last), units.least};
    counts.ended =
        static_cast<double>(many * large.last_array() + (all_move ? last.last_array() : 0));
  }
  counts.largest_tile = static_cast<double>(std::min(loop.extent, tile.most * units.most));
  counts.largest_piece = static_cast<double>(pieces.largest);
  counts.whole = tile.least >= loop.extent;
  counts.all_moves = pieces.known && all_move;
  return counts;
}

// What the first steps of a level leave, of the pieces in which a loop moves.
double least_later(const LevelCounts& counts, const Pieces& pieces) {
  const auto first = static_cast<Index>(counts.largest_tile);
  const auto left = [first](Index size) { return std::max<Index>(0, size - first); };
  const auto moving = static_cast<Index>(counts.moving);
  // Of full pieces no larger share than of larger ones.
  if (!pieces.known) return static_cast<double>(ceil_div(moving * left(pieces.size), pieces.size));
  const bool all_move = counts.all_moves;
  return static_cast<double>(pieces.many() * left(pieces.size) +
                             (all_move ? left(pieces.last) : 0));
}

// Indices that the first cluster gets.
Index least_own(const Loop& loop, Sizes tile, Units units) {
  const Cut small{loop.extent, tile.least, units.most}, large{loop.extent, tile.most, units.most};
  // While the steps are the same, the share rises with the tile, and then it falls.
  if (units.single() && small.steps == large.steps) return std::min(small.share(), large.share());
  return std::max(
      {ceil_div(loop.extent, units.most), (large.steps - 1) * tile.least + 1, tile.least});
}

// Indices of a piece that its first PE gets.
Index least_share(Index piece, Sizes tile, Units units) {
  const Cut small{piece, std::min(tile.least, piece), units.most};
  const Cut large{piece, std::min(tile.most, piece), units.most};
  // While the chunks are the same, the share rises with the tile, or it falls.
  if (units.single() && small.chunks == large.chunks) {
    return std::min(small.share(), large.share());
  }
  return std::max(ceil_div(piece, units.most), std::min(piece, tile.least));
}

// Of a piece of so many indices, known exactly or the least they can be.
Runs run_of(Index size, bool known, Sizes tile, Units units) {
  const Index array = units.least * tile.least;
  const Index steps = Cut{size, tile.most, units.most}.steps;
  const Index share = least_share(size, tile, units);
  const Index most = std::min(size, tile.most);
  const auto work = [&](Index left_out, Index least) {
    const auto left = static_cast<double>(std::max<Index>(0, steps - left_out));
    return Runs::Work{left, static_cast<double>(std::max(least, share - left_out * most))};
  };
  const Index moved = std::max<Index>(0, steps - 1), between = std::max<Index>(0, steps - 2);
  const Index tiles = std::min(size, tile.least);
  Runs run;
  run.pieces = 1;
  run.all = {static_cast<double>(steps), static_cast<double>(share)};
  run.some[kButLast] = work(1, moved * tiles);
  run.some[kButFirst] = work(1, between * tiles + (moved - between));
  run.some[kButBoth] = work(2, between * tiles);
  run.first = static_cast<double>(std::min(size, array));
  run.begun = static_cast<double>(std::min(size, tile.least));
  run.last = run.ended = 1;
  if (known && tile.single() && units.single()) {
    const Index last = Cut{size, std::min(tile.least, size), units.least}.last_array();
    run.last = static_cast<double>(last);
    run.ended = static_cast<double>(std::min(tile.least, last));
  }
  return run;
}

// Of so many pieces like one and another one.
Runs sum_of(const Runs& run, Index many, const Runs& last) {
  const auto times = static_cast<double>(many);
  const auto sum = [&](double Runs::* count) { return times * run.*count + last.*count; };
  const auto both = [&](const Runs::Work& work, const Runs::Work& other) {
    return Runs::Work{times * work.steps + other.steps, times * work.indices + other.indices};
  };
  Runs all{sum(&Runs::pieces), both(run.all, last.all), {}, sum(&Runs::first), sum(&Runs::last),
           sum(&Runs::begun),  sum(&Runs::ended)};
  for (int i = 0; i < kBetween; ++i) all.some[i] = both(run.some[i], last.some[i]);
  return all;
}

}  // namespace

double Loop::fresh(double taps_of_tile) const {
  // Of r taps min(stride, r): no smaller share of them than of more taps.
  const double moved = std::min(static_cast<double>(stride), taps_of_tile);
  if (taps_of_tile == static_cast<double>(taps)) return moved;
  return std::ceil(static_cast<double>(taps) * moved / taps_of_tile);
}

LoopCounts least_counts(const Loop& loop, const Tiles& tiles, Units outer, Units inner) {
  const Index extent = loop.extent;
  const Sizes cluster{loop.outer[tiles.outer.least], loop.outer[tiles.outer.most]};
  const Sizes pe{std::min<Index>(loop.inner[tiles.inner.least], cluster.least),
                 std::min<Index>(loop.inner[tiles.inner.most], cluster.most)};
  const Cut coarse{extent, cluster.most, outer.most}, fine{extent, cluster.least, outer.least};
  const bool dealt = cluster.single() && outer.single();
  // The last piece of the first cluster, where its number is known.
  const bool counted = coarse.steps == fine.steps;
  const Index behind = counted ? std::min(cluster.least, coarse.last_array()) : 1;

  const Index most = cluster.most;
  Pieces pieces{coarse.chunks, cluster.least, cluster.least, most, extent, cluster.single()};
  if (pieces.many() > 0) pieces.last = cluster.single() ? coarse.last_chunk() : 1;
  const Index share = least_own(loop, cluster, outer);
  Pieces own{coarse.steps, cluster.least, cluster.least, most, share, dealt};
  if (own.many() > 0) own.last = behind;

  LoopCounts counts;
  const Pieces layer{1, extent, extent, extent, extent, true};
  counts.outer = sum_over(loop, layer, cluster, outer);
  counts.inner = sum_over(loop, pieces, pe, inner);
  if (fine.chunks > 1 && !cluster.single()) {
    // The last piece is no larger than the others.
    const Index least = std::max<Index>(2, pieces.count);
    counts.inner.moving = static_cast<double>(ceil_div(extent * (least - 1), least));
  }
  counts.own = sum_over(loop, own, pe, inner);
  if (own.many() == 0 && !dealt) counts.own.moving = static_cast<double>(cluster.least);
  counts.outer.later = least_later(counts.outer, layer);
  counts.inner.later = least_later(counts.inner, pieces);
  counts.own.later = least_later(counts.own, own);
  counts.first = static_cast<double>(std::min(extent, outer.least * cluster.least));
  counts.last = static_cast<double>(dealt ? coarse.last_array() : 1);
  counts.first_run = run_of(own.size, cluster.single(), pe, inner);
  counts.last_run = run_of(behind, dealt, pe, inner);
  counts.runs = counts.first_run;
  if (own.many() > 0) counts.runs = sum_of(counts.first_run, own.many(), counts.last_run);
  counts.runs.all.indices =
      std::max(counts.runs.all.indices, static_cast<double>(ceil_div(own.total, inner.most)));
  counts.runs.all.steps = counts.own.steps;
  counts.some.fill(Runs{});
  if (own.many() > 0) {
    counts.some[kButLast] = sum_of(counts.first_run, own.many(), {});
    counts.some[kButFirst] = sum_of(counts.first_run, own.many() - 1, counts.last_run);
    counts.some[kButBoth] = sum_of(counts.first_run, own.many() - 1, {});
  }
  const Index below = Cut{cluster.most, pe.least, inner.least}.steps;
  counts.most_steps = static_cast<double>(fine.steps);
  counts.most_below = static_cast<double>(fine.steps * below);
  counts.largest = static_cast<double>(pe.most);
  counts.outer.moves = fine.steps > 1;
  counts.outer.rests = coarse.steps == 1;
  counts.inner.moves = counts.own.moves = below > 1;
  counts.inner.rests = counts.own.rests =
      Cut{cluster.least, std::min(pe.most, cluster.least), inner.most}.steps == 1;
  return counts;
}

}  // namespace gym::optimum
