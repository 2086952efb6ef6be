// From integer vectors to mappings of an accelerator (H2), and back.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../core/map_space.hpp"
#include "nest.hpp"

namespace gym::hierarchy {

struct Space : VectorSpace {
  // What a point chooses of one element: an order of the dimensions, and a number of each.
  struct Part {
    int element;
    int order_column;
    std::vector<Choice> sizes;
  };
  // Of a fan-out: units of each dimension. The first in the order have them first.
  struct Fanout {
    Part part;
    std::int64_t size;
  };
  // A memory and the fan-outs below it, before the next memory. Sizes of a memory are the tiles
  // that one instance of the next one gets; a step of its loops serves all units of the fan-outs.
  struct Group {
    Part memory;
    std::vector<Fanout> fanouts;
  };

  std::vector<LoopId> dims;
  std::vector<std::int64_t> extents;  // of these
  std::vector<Group> groups;

  // Decodes a point whose entries are in range: the loops that cut something. Tiles are clipped to
  // what they cut, units to the chunks there are and to the fan-out.
  void decode(const std::int32_t* point, std::vector<MappedLoop>& loops) const;

  // Writes the point of a mapping in which all is clipped and only what cuts something has a place
  // in an order. If `decode` returns other loops, the space has no such mapping.
  void encode(Mapping mapping, std::int32_t* point) const;

 private:
  using Counts = std::array<std::int64_t, MapSpace::kMaxLoops>;

  const MapSpace::Order& order(const Part& part, const std::int32_t* point) const;
  int index_of(int loop) const;
};

}  // namespace gym::hierarchy
