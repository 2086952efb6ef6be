// From integer vectors to two-level mappings.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "mapping.hpp"
#include "vectors.hpp"

namespace gym {

struct MapSpace : VectorSpace {
  // One level: rank of the loop order, index of the parallel dimension, a tile per dimension.
  struct Level {
    int order_column;
    Choice parallel;
    std::vector<Choice> tiles;
  };
  static constexpr std::size_t kMaxLoops = 8;

  using Order = std::array<std::uint8_t, kMaxLoops>;

  std::vector<Dim> dims;  // as directives name them
  std::array<Level, 2> levels;
  Choice cluster;

  // What a point chooses, dimensions by their index in `dims`.
  struct Chosen {
    struct Level {
      const Order* order;  // outermost first
      std::int32_t parallel;
      std::array<std::int32_t, kMaxLoops> tile;
    };
    std::array<Level, 2> level;
    std::int32_t cluster;  // units of the inner level
  };

  // Decodes a point whose entries are in range; inner tiles are clipped to outer ones.
  Chosen read(const std::int32_t* point) const;
  // The same as a list of directives.
  void decode(const std::int32_t* point, Mapping& mapping) const;

  // Makes inner tiles no larger than outer ones, as the mapping has them.
  void clip(std::int32_t* point) const;

  // Whether no point cuts dimension d, of which there are so many indices.
  bool leaves_whole(std::size_t d, std::int64_t extent) const;
};

using Points = PointsOf<MapSpace>;

// All permutations of 0..n-1 in lexicographic order, that of their Lehmer codes; n <= kMaxLoops.
const std::vector<MapSpace::Order>& permutations(std::size_t n);
// The place of one of them among all.
std::int32_t rank_of(const std::vector<std::int32_t>& order);

// In the header because batches of mappings wait for it.
inline MapSpace::Chosen MapSpace::read(const std::int32_t* point) const {
  const std::vector<Order>& orders = permutations(dims.size());
  Chosen chosen;
  chosen.cluster = cluster.pick(point);
  for (std::size_t j = 0; j < levels.size(); ++j) {
    const Level& level = levels[j];
    Chosen::Level& to = chosen.level[j];
    to.order = &orders[static_cast<std::size_t>(point[level.order_column])];
    to.parallel = level.parallel.pick(point);
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::int32_t tile = level.tiles[d].pick(point);
      to.tile[d] = j == 0 ? tile : std::min(tile, chosen.level[0].tile[d]);
    }
  }
  return chosen;
}

inline void MapSpace::clip(std::int32_t* point) const {
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const int inner = levels[1].tiles[d].column, outer = levels[0].tiles[d].column;
    // Choices of both stand for the same sizes.
    if (inner >= 0 && outer >= 0) point[inner] = std::min(point[inner], point[outer]);
  }
}

}  // namespace gym
