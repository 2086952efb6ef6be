// Rows that tiles of a sliding axis touch, and share (E1, E4.2).
#pragma once

#include <algorithm>
#include <cstdint>

#include "../loop_nest.hpp"

namespace gym::exact {

// A tile of a sliding axis: `outputs` windows of `taps` rows, one every stride.
struct SlidingTile {
  std::int64_t outputs;
  std::int64_t taps;
};

inline std::int64_t rows(SlidingTile tile, std::int64_t stride) {
  return touched_rows(tile.outputs, tile.taps, stride);
}

inline std::int64_t length(SlidingTile tile, std::int64_t stride) {
  return (tile.outputs - 1) * stride + tile.taps;
}

// Without gaps between its windows.
inline bool solid(SlidingTile tile, std::int64_t stride) {
  return tile.taps >= stride || tile.outputs == 1;
}

// Rows low <= row < high that both of two tiles touch, at least one of which has gaps.
std::int64_t gapped_overlap(SlidingTile first, SlidingTile second, std::int64_t stride,
                            std::int64_t shift, std::int64_t low, std::int64_t high);

// Rows in both of two tiles, the second of which starts `shift` rows later.
inline std::int64_t overlap(SlidingTile first, SlidingTile second, std::int64_t stride,
                            std::int64_t shift) {
  const std::int64_t low = std::max<std::int64_t>(0, shift);
  const std::int64_t high = std::min(length(first, stride), shift + length(second, stride));
  if (low >= high) return 0;
  if (solid(first, stride) && solid(second, stride)) return high - low;
  return gapped_overlap(first, second, stride, shift, low, high);
}

}  // namespace gym::exact
