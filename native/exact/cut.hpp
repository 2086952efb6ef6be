// One loop of a level cut to a box (E4.1).
#pragma once

#include <array>
#include <cstdint>

namespace gym::exact {

// Index 0 of an array: at any position before the last; 1: at the last.
struct Cut {
  std::int64_t tile = 1;
  std::int64_t tail = 1;  // the last chunk, at most a tile
  std::int64_t chunks = 1;
  std::int64_t steps = 1;                    // chunks dealt to the units in rounds
  std::int64_t advance = 0;                  // from one array tile to the next
  std::array<std::int64_t, 2> array{1, 1};   // extent of the array's tile
  std::array<std::int64_t, 2> active{1, 1};  // units at work
};

// A loop over `extent` in tiles, dealt to `units`; a temporal loop has one.
inline void cut_loop(std::int64_t extent, std::int64_t tile, std::int64_t units, Cut& cut) {
  // Extents fit 32 bits, whose divisions are cheaper.
  const auto chunks_of = [](std::int64_t whole, std::int64_t part) -> std::int64_t {
    if (part >= whole) return 1;
    return (static_cast<std::uint32_t>(whole) - 1) / static_cast<std::uint32_t>(part) + 1;
  };
  cut.tile = tile < extent ? tile : extent;
  cut.chunks = chunks_of(extent, tile);
  cut.tail = extent - (cut.chunks - 1) * cut.tile;
  cut.steps = chunks_of(cut.chunks, units);
  const std::int64_t done = (cut.steps - 1) * units;
  cut.advance = units * cut.tile;
  cut.array = {cut.advance, extent - done * cut.tile};
  cut.active = {units, cut.chunks - done};
}

// A loop that is not cut: one chunk, one step.
inline Cut whole(std::int64_t extent) {
  return {extent, extent, 1, 1, extent, {extent, extent}, {1, 1}};
}

}  // namespace gym::exact
