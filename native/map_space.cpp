#include "map_space.hpp"

#include <algorithm>
#include <limits>
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
  mapping.clear();
  const std::vector<Order>& orders = permutations(dims.size());
  std::array<std::int32_t, kMaxLoops> tile;
  tile.fill(std::numeric_limits<std::int32_t>::max());
  for (std::size_t j = 0; j < levels.size(); ++j) {
    const Level& level = levels[j];
    if (j > 0) {
      const std::int32_t size = cluster.pick(point);
      mapping.push_back({Directive::Kind::cluster, 0, size, size});
    }
    for (std::size_t d = 0; d < dims.size(); ++d) {
      tile[d] = std::min(level.tiles[d].pick(point), tile[d]);
    }
    const Order& order = orders[point[level.order_column]];
    const std::int32_t parallel = level.parallel.pick(point);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::uint8_t d = order[i];
      const auto kind = d == parallel ? Directive::Kind::spatial : Directive::Kind::temporal;
      mapping.push_back({kind, dims[d], tile[d], tile[d]});
    }
  }
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
