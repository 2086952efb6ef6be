// Two-level mappings of one layer side by side: a column a number, a row a mapping.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "../core/metrics.hpp"

namespace gym {

inline constexpr int kBlock = 8;
inline constexpr int kMaxColumnLoops = 8;

// One number a mapping.
struct Column {
  alignas(64) std::array<double, kBlock> of;

  // Repeats the first mapping where lanes have none.
  void repeat(int size, int end) { std::fill(of.data() + size, of.data() + end, of[0]); }
};

struct TilingColumns {
  // The column of dimensions that are no loops; nobody reads it.
  static constexpr int kNoLoop = kMaxColumnLoops;

  struct Level {
    std::array<Column, kNoLoop + 1> tile;   // by loop
    std::array<Column, kNoLoop + 1> place;  // by loop, in the level's order, 0 outermost
    Column spatial;                         // the loop dealt to the units, or another number
    Column units;

    void repeat(int size, int end, int loops) {
      for (int d = 0; d < loops; ++d) {
        tile[d].repeat(size, end);
        place[d].repeat(size, end);
      }
      spatial.repeat(size, end);
      units.repeat(size, end);
    }
  };
  std::array<Level, 2> level;
};

struct ResultColumns {
  std::array<Column, kMetrics> figures;
  Column right;  // 0 where the other figures are not

  void read(int i, Detail detail, Metrics& metrics) const {
    auto* row = reinterpret_cast<double*>(&metrics);
    const std::size_t columns = columns_of(detail);
#pragma GCC unroll 9
    for (std::size_t c = 0; c < columns; ++c) row[c] = figures[c].of[static_cast<std::size_t>(i)];
  }
};

}  // namespace gym
