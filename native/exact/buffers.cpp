#include "buffers.hpp"

namespace gym::exact {

void size_buffers(const LoopNest& nest, const Tiling& tiling, Findings& findings) {
  Extents tile = nest.extent;
  for (int j = 0; j < tiling.levels; ++j) {
    const TiledLevel& level = tiling.level[j];
    for (int i = 0; i < level.count; ++i) tile[level.order[i]] = level.tile[level.order[i]];
    findings.buffer[j] = two_of(tile_words(nest, tile));
    findings.sharers[j] = 1;
    for (int below = j + 1; below < tiling.levels; ++below) {
      findings.sharers[j] *= tiling.level[below].units;
    }
  }
}

}  // namespace gym::exact
