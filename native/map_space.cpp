#include "map_space.hpp"

#include <algorithm>

namespace gym {

std::array<std::uint8_t, MapSpace::kMaxLoops> permutation(std::int32_t rank, std::size_t n) {
  std::array<std::uint8_t, MapSpace::kMaxLoops> left{};
  std::int32_t orders = 1;
  for (std::size_t i = 0; i < n; ++i) {
    left[i] = static_cast<std::uint8_t>(i);
    orders *= static_cast<std::int32_t>(i + 1);
  }
  std::array<std::uint8_t, MapSpace::kMaxLoops> order{};
  for (std::size_t i = 0; i < n; ++i) {
    orders /= static_cast<std::int32_t>(n - i);
    const std::int32_t digit = rank / orders;
    rank %= orders;
    order[i] = left[digit];
    std::copy(left.begin() + digit + 1, left.begin() + n, left.begin() + digit);
  }
  return order;
}

void MapSpace::decode(const std::int32_t* point, Mapping& mapping) const {
  mapping.clear();
  std::array<std::int32_t, kMaxLoops> outer{};
  for (std::size_t j = 0; j < levels.size(); ++j) {
    const Level& level = levels[j];
    if (j > 0) {
      const std::int32_t size = cluster.pick(point);
      mapping.push_back({Directive::Kind::cluster, 0, size, size});
    }
    const auto order = permutation(point[level.order_column], dims.size());
    const std::int32_t parallel = level.parallel.pick(point);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::uint8_t d = order[i];
      std::int32_t tile = level.tiles[d].pick(point);
      if (j > 0) tile = std::min(tile, outer[d]);
      outer[d] = tile;
      const auto kind = d == parallel ? Directive::Kind::spatial : Directive::Kind::temporal;
      mapping.push_back({kind, dims[d], tile, tile});
    }
  }
}

std::int64_t MapSpace::first_out_of_range(const std::int32_t* points, std::int64_t count) const {
  const std::size_t width = parameters.size();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t choices = parameters[static_cast<std::size_t>(i) % width].choices;
    if (points[i] < 0 || points[i] >= choices) return i;
  }
  return -1;
}

}  // namespace gym
