#include "buffers.hpp"

namespace gym::exact {

void size_buffers(const LoopNest& nest, const Tiling& tiling, Findings& findings) {
  for (int j = 0; j < tiling.levels; ++j) {
    findings.buffer[j] = two_of(tile_words(nest, tiling.level[j].extent));
    findings.sharers[j] = 1;
    for (int below = j + 1; below < tiling.levels; ++below) {
      findings.sharers[j] *= tiling.level[below].units;
    }
  }
}

std::int64_t required_l2_bytes(const LoopNest& nest, const PerTensor& words, const Tiling& tiling) {
  const TiledLevel& top = tiling.level[0];
  Extents tile = top.extent;
  tile[top.spatial] = std::min(nest.extent[top.spatial], top.units * tile[top.spatial]);
  const TileWords array = tile_words(nest, tile);
  return std::min(2 * array.input, words[kInput]) + std::min(2 * array.filter, words[kFilter]) +
         std::min(2 * array.output, words[kOutput]);
}

}  // namespace gym::exact
