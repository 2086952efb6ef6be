// Mappings, and the integer vectors that stand for them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "layer.hpp"

namespace gym {

struct Directive {
  // `malformed` is a Cluster whose type letter MAESTRO does not know.
  enum class Kind : std::uint8_t { temporal, spatial, cluster, malformed };

  Kind kind = Kind::temporal;
  Dim dim = 0;
  std::int32_t size = 1;    // of the tile, or units of a cluster
  std::int32_t offset = 1;  // from one tile to the next
};

// A mapping as MAESTRO writes it: directives from the outermost loop to the innermost, cut into
// levels by Cluster directives.
using Mapping = std::vector<Directive>;

// A number a vector may choose: values[point[column]], the constant values[0] where column is -1.
// No values stand for 1, 2, 3, ...
struct Choice {
  int column = -1;
  std::vector<std::int32_t> values;

  std::int32_t pick(const std::int32_t* point) const {
    if (column < 0) return values[0];
    return values.empty() ? point[column] + 1 : values[point[column]];
  }
  std::int32_t least() const {
    return values.empty() ? 1 : *std::min_element(values.begin(), values.end());
  }
};

// Integer vectors of choices: what all spaces of mappings have in common.
struct VectorSpace {
  struct Parameter {
    std::string name;
    std::int32_t choices;
  };

  std::vector<Parameter> parameters;
};

// Some points of a space, one after the other.
template <typename Space>
struct PointsOf {
  const Space& space;
  const std::int32_t* first;
  std::int64_t count;

  std::int64_t width() const { return std::ssize(space.parameters); }
  const std::int32_t* operator[](std::int64_t i) const { return first + i * width(); }
  PointsOf part(std::int64_t start, std::int64_t size) const {
    return {space, (*this)[start], size};
  }
  // Index of the first entry outside its range, or -1.
  std::int64_t first_out_of_range() const {
    const std::int32_t* entry = first;
    for (std::int64_t i = 0; i < count; ++i) {
      bool inside = true;
      for (const VectorSpace::Parameter& parameter : space.parameters) {
        inside &= *entry >= 0 && *entry < parameter.choices;
        ++entry;
      }
      if (inside) continue;
      std::int64_t column = 0;
      for (entry = (*this)[i]; *entry >= 0 && *entry < space.parameters[column].choices; ++entry) {
        ++column;
      }
      return i * width() + column;
    }
    return -1;
  }
};

// From integer vectors to two-level mappings.
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
