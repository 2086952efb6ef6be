// What several mappings of one layer have in common.
#pragma once

#include <array>

#include "../../core/hardware.hpp"
#include "../../core/map_space.hpp"
#include "../../core/metrics.hpp"
#include "../../wide/target.hpp"
#include "../level.hpp"

namespace gym::maestro::wide {

inline constexpr int kMaxLoops = kMaxColumnLoops;
inline constexpr int kMaxOpen = 5;

// A dimension of the layer.
struct Loop {
  Dim dim;
  double extent;
  std::array<bool, kTensors> in;  // by tensor
  // Of an axis that slides; it is cut by its outputs.
  bool slides = false;
  double window = 1, stride = 1;
};

struct Problem {
  // The lane code for each instruction set.
  static const Target<Problem> kBaseline, kAvx2, kAvx512;

  Problem(const LayerTable& table, const Hardware& hardware);

  // Whether lanes evaluate the points of a space.
  bool reads(const MapSpace& space) const;
  // The index of the loop that directives of a dimension cut, or -1.
  int loop_of(Dim dim) const;
  // Lanes leave sums where the binary has averages: it divides with more digits than a double has.
  void finish(Metrics& row) const;

  Hardware hardware;
  // Those that are cut come first: others have one index, or are windows.
  std::array<Loop, kMaxLoops> loop;
  int open = 0, loops = 0;
  std::array<double, kTensors> words;  // of whole tensors, as the binary counts them
  // Whether there are few enough loops, and no number of the binary wraps around.
  bool fits;
};

}  // namespace gym::maestro::wide
