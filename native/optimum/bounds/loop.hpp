// The least that the counts of one loop can be, over a range of its tiles (docs/optimum.md, 3).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../../core/layer.hpp"

namespace gym::optimum {

using Index = std::int64_t;

// A loop that some mapping cuts, or whose window one does.
struct Loop {
  LoopId id;
  std::size_t dim;  // index in the map space
  Index extent;
  std::vector<std::int32_t> outer, inner;  // sizes that tiles may have, ascending
  Index taps = 1, stride = 1;              // of the window that slides along it
  int window = -1;                         // index of the window's loop, if some mapping cuts it

  bool slides() const { return id == kLoopP || id == kLoopQ; }
  bool is_window() const { return id == kLoopR || id == kLoopS; }
  // Whether it is an axis of a tensor, for the input one of its own.
  bool input() const { return has(kInputSingles, id); }
  bool filter() const { return has(kFilterLoops, id); }
  bool output() const { return has(kOutputLoops, id); }
  // Summed over the tiles of its window, of at most so many taps: x outputs touch x * fresh rows at
  // least, and those that are left of the taps.
  double fresh(double taps_of_tile) const;
};

// From the first to the last: indices of choices, sizes of tiles, numbers of units.
template <typename Number>
struct Range {
  Number least, most;

  bool single() const { return least == most; }
};
using Choices = Range<std::int32_t>;
using Sizes = Range<Index>;
using Units = Range<Index>;  // 1 where the loop is not parallel

// Choices of the tile of a cluster and of that of a PE, which is cut to it.
struct Tiles {
  Choices outer, inner;
};

// Least counts of a loop at one level, summed over the pieces that the level receives.
struct LevelCounts {
  double extent;  // indices
  double pieces;
  double steps;
  double chunks;
  double active;                       // units that are active at least once in a piece
  double largest_tile, largest_piece;  // indices, at most
  // Of the pieces that take several steps, if the largest does: indices, number, chunks.
  double moving, restarts, regained;
  double later;  // indices of the same pieces without those of their first steps
  // At most: rows that stay when the loop starts again within a piece; that a unit still has from
  // its chunk before.
  double kept, shared;
  // Of the same pieces: indices of the array in the first and in the last step.
  double begun, ended;
  bool whole;      // whether no tile cuts it
  bool rests;      // whether it can take one step
  bool moves;      // whether it can take several steps, at the inner level in the largest piece
  bool all_moves;  // whether it takes several steps in every piece, if in the largest
};

// Steps of a level along a loop: all but the last, all but the first, or all but both.
enum Between { kButLast, kButFirst, kButBoth, kBetween };

// Of the inner level, summed over some pieces of the first cluster.
struct Runs {
  // Some of the steps, and the indices that the first PE gets in them.
  struct Work {
    double steps, indices;
  };

  double pieces;
  Work all;
  std::array<Work, kBetween> some;
  double first, last;   // indices of the array in the first and in the last step of a piece
  double begun, ended;  // indices of the first PE in these steps
};

struct LoopCounts {
  LevelCounts outer, inner;
  LevelCounts own;     // of the inner level, in the pieces of the first cluster
  double first, last;  // indices of the first and of the last step of the outer level
  Runs runs;           // of all pieces of the first cluster
  std::array<Runs, kBetween> some;
  Runs first_run, last_run;  // of the first one, and of the last one
  double most_steps;         // of the outer level, at most
  double most_below;         // of the inner level in the pieces of the first cluster, at most
  double largest;            // tile of a PE
};

LoopCounts least_counts(const Loop& loop, const Tiles& tiles, Units outer, Units inner);

}  // namespace gym::optimum
