// From integer vectors to mappings of an accelerator (H2), and back.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../core/map_space.hpp"
#include "nest.hpp"

namespace gym::hierarchy {

struct Space : VectorSpace {
  // What a point chooses of one element: an order of the loops that it may have, and a number of
  // each dimension.
  struct Part {
    using Dims = std::vector<std::uint8_t>;  // indices of `dims`

    int element;
    int order_column;        // below 0: there is one order
    Dims first, free, last;  // outermost first; a point orders the free ones
    Dims uncut;              // those without a loop here
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
  // A tensor that stays in a memory (H2.1): what indexes it is not cut inside of what does not.
  struct Stay {
    int element;
    std::uint32_t indexing;  // bits of the dimensions
  };
  std::vector<Stay> stays;
  bool uncut = false;  // whether some memory may not cut some dimension
  // Whether larger tiles alone need more room: each memory may cut what its units share, and no
  // loop is left out.
  bool tiles_decide = true;

  // Decodes a point whose entries are in range: the loops that cut something. Tiles are clipped to
  // what they cut, units to the chunks there are and to the fan-out, and their tiles to equal
  // shares. Where a memory may not cut a dimension, it gets no more than its units take, or they
  // take larger tiles.
  void decode(const std::int32_t* point, std::vector<MappedLoop>& loops) const;

  // Writes the point of a mapping in which all is clipped and only what cuts something has a place
  // in an order. If `decode` returns other loops, the space has no such mapping.
  void encode(Mapping mapping, std::int32_t* point) const;

 private:
  using Counts = std::array<std::int64_t, MapSpace::kMaxLoops>;
  using Units = std::array<Counts, kMaxFanouts>;
  class Decoder;

  int index_of(int loop) const;
};

}  // namespace gym::hierarchy
