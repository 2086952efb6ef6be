// Distinct words that a tile's MACs touch (E1), and rows that tiles of a sliding axis share (E4.2).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "../core/layer.hpp"
#include "../core/numbers.hpp"

namespace gym::exact {

// A tile of a sliding axis: `outputs` windows of `taps` rows, one every stride.
struct SlidingTile {
  std::int64_t outputs;
  std::int64_t taps;
};

struct SlidingAxis {
  LoopId output, window;
  std::int64_t stride;
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

template <typename Number>
struct BasicTileWords {
  Number input, filter, output;

  GYM_INLINE Number fetched() const { return input + filter; }
  // Whether a network of so many words a cycle takes them in a single go.
  GYM_INLINE auto pass(Number bw) const { return (fetched() <= bw) & (output <= bw); }
  // Bytes that hold two.
  GYM_INLINE Number buffer() const { return 2 * (fetched() + output); }
};
using TileWords = BasicTileWords<Count>;

using Extents = std::array<std::int64_t, kLoops>;

inline TileWords tile_words(const LoopNest& nest, const Extents& tile) {
  const std::int64_t y = rows({tile[kLoopP], tile[kLoopR]}, nest.stride_y);
  const std::int64_t x = rows({tile[kLoopQ], tile[kLoopS]}, nest.stride_x);
  const std::int64_t batch = tile[kLoopN] * tile[kLoopG];
  return {batch * tile[kLoopC] * y * x,
          tile[kLoopG] * tile[kLoopK] * tile[kLoopC] * tile[kLoopR] * tile[kLoopS],
          batch * tile[kLoopK] * tile[kLoopP] * tile[kLoopQ]};
}

}  // namespace gym::exact
