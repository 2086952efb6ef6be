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

GYM_INLINE bool any(WideFlag flag) {
  std::int64_t either = 0;
  for (int lane = 0; lane < GYM_LANES; ++lane) either |= flag[lane];
  return either != 0;
}

// Either of two structs that consist of numbers, for each mapping.
template <typename Numbers>
GYM_INLINE Numbers choose(WideFlag flag, const Numbers& a, const Numbers& b) {
  static_assert(std::is_trivially_copyable_v<Numbers> && sizeof(Numbers) % sizeof(Wide) == 0);
  Numbers chosen;
  auto* to = reinterpret_cast<Wide*>(&chosen);
  const auto* from_a = reinterpret_cast<const Wide*>(&a);
  const auto* from_b = reinterpret_cast<const Wide*>(&b);
#pragma GCC unroll 32
  for (std::size_t i = 0; i < sizeof(Numbers) / sizeof(Wide); ++i) {
    to[i] = select(flag, from_a[i], from_b[i]);
  }
  return chosen;
}

// Sorts the first `count` items by keys that differ, for each mapping.
template <typename Item, std::size_t n>
GYM_INLINE void sort(const std::array<Wide, n>& key, int count, std::array<Item, n>& items) {
  std::array<Wide, n> rank{};
  for (int d = 0; d < count; ++d) {
    for (int e = 0; e < count; ++e) {
      rank[d] += select(key[e] < key[d], number<Wide>(1), Wide{});
    }
  }
  const std::array<Item, n> unsorted = items;
  for (int r = 0; r < count; ++r) {
    items[r] = unsorted[0];
    for (int d = 1; d < count; ++d) {
      items[r] = choose(rank[d] == number<Wide>(r), unsorted[d], items[r]);
    }
  }
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

GYM_INLINE void store(const BasicMetrics<Wide>& figures, WideFlag right, Detail detail, int first,
                      ResultColumns& results) {
  store(select(right, number<Wide>(1), Wide{}), results.right, first);
  if (!any(right)) return;
  const auto* columns = reinterpret_cast<const Wide*>(&figures);
  const std::size_t count = columns_of(detail);
  for (std::size_t c = 0; c < count; ++c) store(columns[c], results.figures[c], first);
}

}  // namespace
}  // namespace gym
