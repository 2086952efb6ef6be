// Sizes of the buffers between L2 and the MACs (E5).
#pragma once

#include "report.hpp"

namespace gym::exact {

// Bytes that hold two tiles.
template <typename Number>
GYM_INLINE Number two_of(const BasicTileWords<Number>& tile) {
  return 2 * (tile.fetched() + tile.output);
}

// `tiling` cuts as it was told to, not as the last boxes leave it.
void size_buffers(const LoopNest& nest, const Tiling& tiling, Findings& findings);

// The least L2 a tiling runs with: see plan_l2.
std::int64_t required_l2_bytes(const LoopNest& nest, const PerTensor& words, const Tiling& tiling);

}  // namespace gym::exact
