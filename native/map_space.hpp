// From integer vectors to two-level mappings.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mapping.hpp"

namespace gym {

// A number a vector may choose: values[point[column]], the constant values[0] where column is -1.
// No values stand for 1, 2, 3, ...
struct Choice {
  int column = -1;
  std::vector<std::int32_t> values;

  std::int32_t pick(const std::int32_t* point) const {
    if (column < 0) return values[0];
    return values.empty() ? point[column] + 1 : values[point[column]];
  }
};

struct MapSpace {
  struct Parameter {
    std::string name;
    std::int32_t choices;
  };
  // One level: rank of the loop order, index of the parallel dimension, a tile per dimension.
  struct Level {
    int order_column;
    Choice parallel;
    std::vector<Choice> tiles;
  };
  static constexpr std::size_t kMaxLoops = 8;

  using Order = std::array<std::uint8_t, kMaxLoops>;

  std::vector<Parameter> parameters;
  std::vector<Dim> dims;  // as directives name them
  std::array<Level, 2> levels;
  Choice cluster;

  // Writes the mapping of a point whose entries are in range; inner tiles are clipped to outer
  // ones.
  void decode(const std::int32_t* point, Mapping& mapping) const;

  // Index of the first entry outside its range among those of `count` points, or -1.
  std::int64_t first_out_of_range(const std::int32_t* points, std::int64_t count) const;
};

// All permutations of 0..n-1 in lexicographic order, that of their Lehmer codes; n <= kMaxLoops.
const std::vector<MapSpace::Order>& permutations(std::size_t n);

}  // namespace gym
