// Two-level mappings evaluated side by side, for throughput: the same figures as those of
// ../model.hpp, bit for bit.
#pragma once

#include <array>

#include "../../metrics.hpp"
#include "problem.hpp"

namespace gym::exact::wide {

inline constexpr int kBlock = 8;

// One number a mapping.
struct Column {
  alignas(64) std::array<double, kBlock> of;
};

struct Tilings {
  struct Level {
    std::array<Column, kMaxLoops> tile;   // by loop
    std::array<Column, kMaxLoops> place;  // by loop, in the level's order, 0 outermost
    Column spatial;                       // the loop dealt to the units, or another number
    Column units;
  };
  std::array<Level, 2> level;
};

struct Results {
  std::array<Column, kMetrics> figures;
  Column right;  // 0 where PEs wait: other figures are not right then
};

using Evaluate = void (*)(const Problem& problem, const Tilings& tilings, Results& results);

// The fastest way of this processor, or null if it has none.
Evaluate fastest();

}  // namespace gym::exact::wide
