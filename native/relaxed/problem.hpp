// What the relaxed program knows of a layer on an accelerator, and which mappings it looks at.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "../hierarchy/model.hpp"
#include "grid.hpp"

namespace gym::relaxed {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Dimensions whose loops bring other words of all of a tensor's tile. Windows that slide do not.
inline constexpr std::array<LoopSet, kTensors> kMoving{
    set_of(kLoopN, kLoopG, kLoopC, kLoopP, kLoopQ), kFilterLoops, kOutputLoops};
// Dimensions that do not index a tensor, or of which windows share words.
inline constexpr std::array<LoopSet, kTensors> kSharing{
    set_of(kLoopK, kLoopP, kLoopQ, kLoopR, kLoopS), kAllLoops & ~kFilterLoops,
    kAllLoops & ~kOutputLoops};

inline constexpr LoopSet kTaps = set_of(kLoopR, kLoopS);

// Dimensions that do not index a tensor.
inline constexpr std::array<LoopSet, kTensors> kLacking{set_of(kLoopK), kSharing[kFilter],
                                                        kSharing[kOutput]};

// Words of a pair axis that a tile touches (H5).
constexpr double touched(std::int64_t outputs, std::int64_t taps, std::int64_t stride,
                         std::int64_t dilation) {
  const std::int64_t common = std::gcd(stride, dilation);
  const std::int64_t p = std::max<std::int64_t>(0, outputs - dilation / common);
  const std::int64_t r = std::max<std::int64_t>(0, taps - stride / common);
  return static_cast<double>(outputs) * static_cast<double>(taps) -
         static_cast<double>(p) * static_cast<double>(r);
}

struct Problem {
  hierarchy::Shape shape;
  hierarchy::Accelerator accelerator;
  std::vector<hierarchy::Boundary> boundaries;  // and crossings, whose parents are fan-outs
  std::array<std::int64_t, kTensors> words{};   // that the layer touches
  // By element: dimensions that may have a loop, and the largest tiles it may get.
  std::vector<LoopSet> loops;
  std::vector<Counts> tiles;

  int elements() const { return accelerator.rest(); }
  bool is_memory(int element) const { return accelerator.elements[element].is_memory; }
  // The number of elements if there is none.
  int outermost_fanout() const {
    int fanout = 0;
    while (fanout < elements() && is_memory(fanout)) ++fanout;
    return fanout;
  }
  bool together(int fanout, TensorId tensor) const {
    return accelerator.elements[fanout].fanout.together[tensor];
  }
};

// Units of a fan-out: by dimension from `least` to `most`. Of a tensor, so many of them share one
// word at most.
struct Units {
  Counts least, most;
  std::array<double, kTensors> sharing;
};

// Units of two fan-outs that work at least, if so many of the outer one do, and of the inner one
// where boxes are whole: in the last share there may be work for one alone (P6).
constexpr std::int64_t nested(std::int64_t outer, std::int64_t inner) {
  return outer == 1 ? inner : (outer - 1) * inner + 1;
}

// Mappings by the units of their fan-outs (by element; those of memories do not count), and by the
// tiles that the loops of the first memory leave.
struct Box {
  std::vector<Units> units;
  Counts least, most;
};

// What is to be least: a sum over accesses of each kind (of boundaries, as `Prices` has them) and
// words in gaps, steps and cycles of first fills and of last drains (by element), and of fills
// again (H6).
struct Weights {
  std::vector<std::array<double, 6>> accesses;
  std::vector<double> steps, fills, drains;
  double refill = 0;
};

// Where no mapping is looked at: that fills an element and drains it for longer, in cycles a word
// of each tensor and in gaps of inputs, or paces for longer than that.
struct Limits {
  std::vector<std::array<double, kTensors + 1>> exposed;
  double exposed_cycles = kInfinite, cycles = kInfinite;
};

}  // namespace gym::relaxed
