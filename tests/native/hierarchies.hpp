// What the drivers evaluate under `hierarchy`: random mappings of the three layers on an
// accelerator with three memories and two fan-outs.
#pragma once

#include <algorithm>
#include <numeric>

#include "../../native/hierarchy/model.hpp"
#include "problems.hpp"

namespace driver {

inline gym::hierarchy::Element memory(int number, double bits, double bw, double pj) {
  gym::hierarchy::Element element;
  element.memory.keeps = {true, true, true};
  element.memory.width = {8, 8, 8};
  element.memory.pool = number;
  element.memory.capacity.back() = bits;
  element.memory.read_bw = element.memory.write_bw = bw;
  element.memory.one_port = true;
  element.memory.read_pj = element.memory.write_pj = pj;
  return element;
}

inline gym::hierarchy::Element fanout(std::int64_t size) {
  gym::hierarchy::Element element;
  element.is_memory = false;
  element.fanout.size = size;
  return element;
}

inline std::array<std::int64_t, gym::kLoops> extents_of(const Square& square) {
  const std::int64_t outputs = square.y - square.r + 1;
  return {1, 1, square.k, square.c, outputs, outputs, square.r, square.r};
}

inline gym::hierarchy::ScorerSpec on_three_memories(const Square& square) {
  gym::hierarchy::Accelerator accelerator;
  accelerator.elements = {memory(0, gym::hierarchy::kUnlimited, 128, 8),
                          memory(1, 884736, 1024, 0.5), fanout(14), fanout(12),
                          memory(4, 4096, 64, 0.05)};
  return {{extents_of(square)}, accelerator, {}};
}

// Tiles are about uniform in their logarithm, and seldom divide what they cut.
inline gym::hierarchy::Space three_memories(const Square& square) {
  gym::hierarchy::Space space;
  const auto add = [&space](std::size_t choices) {
    space.parameters.push_back({"", static_cast<std::int32_t>(choices)});
    return static_cast<int>(space.parameters.size()) - 1;
  };
  const auto part = [&](int element, const auto& values_of) {
    gym::hierarchy::Space::Part part;
    part.element = element;
    part.order_column = add(720);
    part.free.resize(space.dims.size());
    std::iota(part.free.begin(), part.free.end(), std::uint8_t{0});
    for (const std::int64_t extent : space.extents) {
      const std::vector<std::int32_t> values = values_of(extent);
      part.sizes.push_back({add(values.size()), values});
    }
    return part;
  };
  const auto tiles = [](std::int64_t extent) {
    std::vector<std::int32_t> values;
    for (std::int64_t tile = 1; tile <= extent; tile += (tile + 2) / 3) {
      values.push_back(static_cast<std::int32_t>(tile));
    }
    return values;
  };
  const auto units = [&](std::int64_t size) {
    return [&, size](std::int64_t extent) { return tiles(std::min(size, extent)); };
  };
  for (const gym::LoopId loop :
       {gym::kLoopK, gym::kLoopC, gym::kLoopP, gym::kLoopQ, gym::kLoopR, gym::kLoopS}) {
    space.dims.push_back(loop);
    space.extents.push_back(extents_of(square)[loop]);
  }
  space.groups.push_back({part(0, tiles), {}});
  space.groups.push_back({part(1, tiles), {}});
  space.groups.back().fanouts.push_back({part(2, units(14)), 14});
  space.groups.back().fanouts.push_back({part(3, units(12)), 12});
  return space;
}

}  // namespace driver
