// Two-level mappings of one layer side by side: a column a number, a row a mapping.
#pragma once

#include <array>

#include "../metrics.hpp"

namespace gym {

inline constexpr int kBlock = 8;
inline constexpr int kMaxColumnLoops = 8;

// One number a mapping.
struct Column {
  alignas(64) std::array<double, kBlock> of;

  // What is left of a block repeats the first mapping.
  void repeat_from(int size) {
    for (auto i = static_cast<std::size_t>(size); i < kBlock; ++i) of[i] = of[0];
  }
};

struct TilingColumns {
  // The column of dimensions that are no loops; nobody reads it.
  static constexpr int kNoLoop = kMaxColumnLoops;

  struct Level {
    std::array<Column, kNoLoop + 1> tile;   // by loop
    std::array<Column, kNoLoop + 1> place;  // by loop, in the level's order, 0 outermost
    Column spatial;                         // the loop dealt to the units, or another number
    Column units;

    void repeat_from(int size, int loops) {
      for (int d = 0; d < loops; ++d) {
        tile[d].repeat_from(size);
        place[d].repeat_from(size);
      }
      spatial.repeat_from(size);
      units.repeat_from(size);
    }
  };
  std::array<Level, 2> level;
};

struct ResultColumns {
  std::array<Column, kMetrics> figures;
  Column right;  // 0 where the other figures are not

  void read(int i, Metrics& metrics) const {
    auto* row = reinterpret_cast<double*>(&metrics);
#pragma GCC unroll 9
    for (std::size_t c = 0; c < kMetrics; ++c) row[c] = figures[c].of[static_cast<std::size_t>(i)];
  }
};

}  // namespace gym
