// What is reported of the steps of the outermost level (E5).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tile_words.hpp"

namespace gym::exact {

struct Span {
  std::int64_t min = std::numeric_limits<std::int64_t>::max();
  std::int64_t max = 0;
  std::int64_t sum = 0;

  void add(std::int64_t value, std::int64_t times) {
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value * times;
  }
};

struct Profile {
  Span ingress, compute, egress;
  std::int64_t steps = 0;
  std::int64_t peak_bw = 0;
  std::int64_t first_in = 0;
  std::int64_t last_out = 0;
  TileWords array_tile{};  // the largest
};

}  // namespace gym::exact
