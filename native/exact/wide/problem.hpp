// What several mappings of one layer have in common.
#pragma once

#include <array>

#include "../../core/hardware.hpp"
#include "../../core/metrics.hpp"
#include "../../wide/target.hpp"
#include "../report.hpp"
#include "../tiling.hpp"

namespace gym::exact::wide {

inline constexpr int kMaxLoops = 6;

// A sliding axis: tiles of p outputs have p * step + halo rows.
struct Axis {
  double stride, step, halo;
};

// A loop of more than one index. Windows are none of these: they are not cut.
struct Loop {
  LoopId id;
  double extent;
  bool in_filter, in_output;
  const Axis* axis;  // if it slides, or null
};

struct Problem {
  // The lane code for each instruction set.
  static const Target<Problem> kBaseline, kAvx2, kAvx512;

  Problem(const LoopNest& nest, const Hardware& hardware, const Tiler& tiler);

  // Loops refer to axes.
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // Whether lanes evaluate the points of a space: all leave windows whole.
  bool reads(const MapSpace& space) const {
    return tiler.reads(space) && tiler.leaves_windows(space);
  }
  // The index of the loop that directives of a dimension cut, or -1.
  int loop_of(Dim dim) const;
  void finish(Metrics&) const {}

  const Tiler& tiler;
  Totals totals;
  Hardware hardware;
  std::array<Axis, 2> axes;
  std::array<Loop, kMaxLoops> loop;
  int loops = 0;
  double window;          // indices of both windows
  double still_rows = 1;  // along axes that have one output
  bool never_queues;
};

}  // namespace gym::exact::wide
