#include "loop.hpp"

#include <algorithm>

#include "../integers.hpp"

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
  Index total;  // indices in all of them
  bool known;   // whether count, size and last are exact, or the least they can be

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
  return counts;
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

}  // namespace

LoopCounts least_counts(const Loop& loop, const Tiles& tiles, Units outer, Units inner) {
  const Index extent = loop.extent;
  const Sizes cluster{loop.outer[tiles.outer.least], loop.outer[tiles.outer.most]};
  const Sizes pe{std::min<Index>(loop.inner[tiles.inner.least], cluster.least),
                 std::min<Index>(loop.inner[tiles.inner.most], cluster.most)};
  const Cut coarse{extent, cluster.most, outer.most}, fine{extent, cluster.least, outer.least};
  const bool dealt = cluster.single() && outer.single();

  Pieces pieces{coarse.chunks, cluster.least, cluster.least, extent, cluster.single()};
  if (pieces.many() > 0) pieces.last = cluster.single() ? coarse.last_chunk() : 1;
  Pieces own{coarse.steps, cluster.least, cluster.least, least_own(loop, cluster, outer), dealt};
  if (own.many() > 0) own.last = dealt ? std::min(cluster.least, coarse.last_array()) : 1;

  LoopCounts counts;
  counts.outer = sum_over(loop, {1, extent, extent, extent, true}, cluster, outer);
  counts.inner = sum_over(loop, pieces, pe, inner);
  if (fine.chunks > 1 && !cluster.single()) {
    // The last piece is no larger than the others.
    const Index least = std::max<Index>(2, pieces.count);
    counts.inner.moving = static_cast<double>(ceil_div(extent * (least - 1), least));
  }
  counts.own = sum_over(loop, own, pe, inner);
  if (own.many() == 0 && !dealt) counts.own.moving = static_cast<double>(cluster.least);
  counts.first = static_cast<double>(std::min(extent, outer.least * cluster.least));
  counts.last = static_cast<double>(dealt ? coarse.last_array() : 1);
  const Index array = inner.least * pe.least;
  counts.first_below =
      static_cast<double>(own.many() * std::min(own.size, array) + std::min(own.last, array));
  counts.last_below = static_cast<double>(own.count);
  if (dealt && pe.single() && inner.single()) {
    counts.last_below =
        static_cast<double>(own.many() * Cut{own.size, pe.least, inner.least}.last_array() +
                            Cut{own.last, std::min(pe.least, own.last), inner.least}.last_array());
  }
  const Index by_piece =
      own.many() * least_share(own.size, pe, inner) + least_share(own.last, pe, inner);
  counts.share = static_cast<double>(std::max(ceil_div(own.total, inner.most), by_piece));
  const Index below = Cut{cluster.most, pe.least, inner.least}.steps;
  counts.most_steps = static_cast<double>(fine.steps);
  counts.most_below = static_cast<double>(fine.steps * below);
  counts.outer.moves = fine.steps > 1;
  counts.outer_rests = coarse.steps == 1;
  counts.inner.moves = counts.own.moves = below > 1;
  counts.inner_rests = Cut{cluster.least, std::min(pe.most, cluster.least), inner.most}.steps == 1;
  return counts;
}

}  // namespace gym::optimum
