// Columns in the registers of an instruction set.
#pragma once

#include "../numbers.hpp"
#include "columns.hpp"

namespace gym {
namespace {

GYM_INLINE Wide load(const Column& column, int first) {
  Wide numbers;
  std::memcpy(&numbers, &column.of[static_cast<std::size_t>(first)], sizeof(numbers));
  return numbers;
}
GYM_INLINE void store(Wide numbers, Column& column, int first) {
  std::memcpy(&column.of[static_cast<std::size_t>(first)], &numbers, sizeof(numbers));
}

// See TilingColumns.
struct WideTiling {
  struct Level {
    std::array<Wide, kMaxColumnLoops> tile, place;
    Wide spatial, units;
  };
  std::array<Level, 2> level;
};

GYM_INLINE WideTiling load(const TilingColumns& tilings, int loops, int first) {
  WideTiling tiling;
  for (std::size_t j = 0; j < tiling.level.size(); ++j) {
    const TilingColumns::Level& from = tilings.level[j];
    WideTiling::Level& to = tiling.level[j];
    for (int d = 0; d < loops; ++d) {
      to.tile[d] = load(from.tile[d], first);
      to.place[d] = load(from.place[d], first);
    }
    to.spatial = load(from.spatial, first);
    to.units = load(from.units, first);
  }
  return tiling;
}

GYM_INLINE void store(const BasicMetrics<Wide>& figures, WideFlag right, int first,
                      ResultColumns& results) {
  const auto* columns = reinterpret_cast<const Wide*>(&figures);
  for (std::size_t c = 0; c < kMetrics; ++c) store(columns[c], results.figures[c], first);
  store(select(right, number<Wide>(1), Wide{}), results.right, first);
}

}  // namespace
}  // namespace gym
