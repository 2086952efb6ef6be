// What several mappings of one layer have in common.
#pragma once

#include <array>

#include "../../hardware.hpp"
#include "../../numbers.hpp"
#include "../report.hpp"

namespace gym::exact::wide {

inline constexpr int kMaxLoops = 6;

// A sliding axis: tiles of p outputs have p * step + halo rows.
struct Axis {
  double stride, step, halo;

  GYM_INLINE Wide rows(Wide outputs) const { return outputs * step + halo; }
  // Rows left of a tile of so many outputs, `advance` outputs later.
  GYM_INLINE Wide left(Wide outputs, Wide advance) const {
    return most(Wide{}, halo - (advance * stride - outputs * step));
  }
};

// A loop of more than one index. Windows are none of these: they are not cut.
struct Loop {
  LoopId id;
  double extent;
  bool in_filter, in_output;
  const Axis* axis;  // if it slides, or null
};

struct Problem {
  Problem(const LoopNest& nest, const Hardware& hardware);

  // Loops refer to axes.
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // What a loop of this extent contributes to the words of a tile.
  GYM_INLINE BasicTileWords<Wide> words_along(int d, Wide extent) const {
    const Loop& each = loop[d];
    const Wide one = number<Wide>(1);
    const Wide input = each.axis != nullptr ? each.axis->rows(extent) : extent;
    return {each.id == kLoopK ? one : input, each.in_filter ? extent : one,
            each.in_output ? extent : one};
  }
  GYM_INLINE BasicTileWords<Wide> tile_words(const std::array<Wide, kMaxLoops>& tile) const {
    BasicTileWords<Wide> words = whole_words();
    for (int d = 0; d < loops; ++d) {
      const BasicTileWords<Wide> along = words_along(d, tile[d]);
      words.input *= along.input;
      words.filter *= along.filter;
      words.output *= along.output;
    }
    return words;
  }
  // Of what is never cut.
  GYM_INLINE BasicTileWords<Wide> whole_words() const {
    return {number<Wide>(still_rows), number<Wide>(window), number<Wide>(1)};
  }

  Totals totals;
  Hardware hardware;
  std::array<Axis, 2> axes;
  std::array<Loop, kMaxLoops> loop;
  int loops = 0;
  double window;          // indices of both windows
  double still_rows = 1;  // along axes that have one output
  bool never_queues;      // all words of a tile pass a network at once, however large it is
};

}  // namespace gym::exact::wide
