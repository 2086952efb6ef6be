// Columns in the registers of an instruction set. Code that includes this is compiled once for each
// set: GYM_LANES is how many mappings a register holds.
#pragma once

// Functions that others use too must run on any processor: their headers come before the
// instruction sets.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "target.hpp"

#if GYM_LANES == 4
#define GYM_INSTRUCTIONS "avx2"
#elif GYM_LANES == 8
#define GYM_INSTRUCTIONS "avx512f,avx512dq,avx512vl"
#endif
// GCC takes operations on vectors apart where they are defined, not where they are inlined.
#ifdef GYM_INSTRUCTIONS
#define GYM_PRAGMA_OF(text) _Pragma(#text)
#define GYM_PRAGMA(text) GYM_PRAGMA_OF(text)
#ifdef __clang__
GYM_PRAGMA(clang attribute push(__attribute__((target(GYM_INSTRUCTIONS))), apply_to = function))
#define GYM_END_OF_INSTRUCTIONS GYM_PRAGMA(clang attribute pop)
#else
GYM_PRAGMA(GCC target(GYM_INSTRUCTIONS))
#endif
#endif
#ifndef GYM_END_OF_INSTRUCTIONS
#define GYM_END_OF_INSTRUCTIONS
#endif

#include "../core/numbers.hpp"

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

// A Target's `evaluate`, by that of a model.
template <typename Problem, auto evaluate>
void evaluate_lanes(const Problem& problem, const TilingColumns& tilings, int size, Detail detail,
                    ResultColumns& results) {
  BasicMetrics<Wide> figures;
  // Models leave what they have no figure for.
  std::fill_n(reinterpret_cast<Wide*>(&figures), columns_of(detail),
              number<Wide>(std::numeric_limits<double>::quiet_NaN()));
  for (int first = 0; first < size; first += GYM_LANES) {
    const WideFlag right = evaluate(problem, load(tilings, problem.loops, first), detail, figures);
    store(figures, right, detail, first, results);
  }
}

}  // namespace
}  // namespace gym

// Defines a model's code for an instruction set, at the end of its file.
#define GYM_TARGET(model, member, name)                                                        \
  constinit const gym::Target<gym::model::wide::Problem> gym::model::wide::Problem::member = { \
      name, GYM_LANES,                                                                         \
      gym::evaluate_lanes<gym::model::wide::Problem, gym::model::wide::evaluate>};             \
  GYM_END_OF_INSTRUCTIONS
