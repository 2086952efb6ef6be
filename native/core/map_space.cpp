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

std::int32_t rank_of(const std::vector<std::int32_t>& order) {
  std::int32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto smaller = std::count_if(order.begin() + static_cast<std::ptrdiff_t>(i), order.end(),
                                       [&](std::int32_t later) { return later < order[i]; });
    rank = rank * static_cast<std::int32_t>(order.size() - i) + static_cast<std::int32_t>(smaller);
  }
  return rank;
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

}  // namespace gym
