// Words of a tile: distinct ones its MACs touch (E1).
#pragma once

#include <array>
#include <cstdint>

#include "../numbers.hpp"
#include "overlap.hpp"

namespace gym::exact {

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
