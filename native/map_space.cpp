#include "map_space.hpp"

#include <algorithm>
#include <numeric>

namespace gym {

namespace {

using Orders = std::vector<MapSpace::Order>;

Orders list_permutations(std::size_t n) {
  Orders orders;
  MapSpace::Order order{};
  std::iota(order.begin(), order.begin() + n, std::uint8_t{0});
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.begin() + n));
  return orders;
}

}  // namespace

const std::vector<MapSpace::Order>& permutations(std::size_t n) {
  static const std::array<Orders, MapSpace::kMaxLoops + 1> tables = [] {
    std::array<Orders, MapSpace::kMaxLoops + 1> all;
    for (std::size_t size = 0; size < all.size(); ++size) all[size] = list_permutations(size);
    return all;
  }();
  return tables[n];
}

void MapSpace::decode(const std::int32_t* point, Mapping& mapping) const {
  const Chosen chosen = read(point);
  mapping.clear();
  for (std::size_t j = 0; j < chosen.level.size(); ++j) {
    const Chosen::Level& level = chosen.level[j];
    if (j > 0) {
      mapping.push_back({Directive::Kind::cluster, 0, chosen.cluster, chosen.cluster});
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::uint8_t d = (*level.order)[i];
      const auto kind = d == level.parallel ? Directive::Kind::spatial : Directive::Kind::temporal;
      mapping.push_back({kind, dims[d], level.tile[d], level.tile[d]});
    }
  }
}

bool MapSpace::leaves_whole(std::size_t d, std::int64_t extent) const {
  return std::all_of(levels.begin(), levels.end(),
                     [&](const Level& level) { return level.tiles[d].least() >= extent; });
}

std::int64_t MapSpace::first_out_of_range(const std::int32_t* points, std::int64_t count) const {
  bool inside = true;
  const std::int32_t* entry = points;
  for (std::int64_t i = 0; i < count; ++i) {
    for (const Parameter& parameter : parameters) {
      inside &= *entry >= 0 && *entry < parameter.choices;
      ++entry;
    }
  }
  if (inside) return -1;
  const std::size_t width = parameters.size();
  for (std::int64_t i = 0;; ++i) {
    const std::int32_t choices = parameters[static_cast<std::size_t>(i) % width].choices;
    if (points[i] < 0 || points[i] >= choices) return i;
  }
}

}  // namespace gym
