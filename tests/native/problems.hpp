// What the drivers evaluate: random legal13 vectors of three layers on a machine of 1,024 PEs.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "../../native/evaluate/batch.hpp"

namespace driver {

// Output channels, input channels, rows and columns, window of a square convolution.
struct Square {
  std::int32_t k, c, y, r;
};

// mobilenetv2_l2 and two others.
inline constexpr std::array kSquares = {Square{16, 32, 112, 1}, Square{64, 64, 56, 3},
                                        Square{64, 64, 224, 3}};

inline gym::Layer layer_of(const Square& square) {
  using namespace gym;
  Layer layer;
  layer.extents = {{kK, square.k}, {kC, square.c}, {kY, square.y},
                   {kX, square.y}, {kR, square.r}, {kS, square.r}};
  return layer;
}

inline gym::Hardware machine() {
  gym::Hardware hardware;
  hardware.num_pes = 1024;
  hardware.noc_bw = hardware.offchip_bw = 81920000;
  hardware.noc_latency = 1;
  return hardware;
}

// Orders, parallel dimensions, tiles but of R and S, cluster size.
inline gym::MapSpace legal13(const Square& square) {
  using namespace gym;
  MapSpace space;
  space.dims = {kK, kC, kOutY, kOutX, kR, kS};
  const auto add = [&space](std::int32_t choices) {
    space.parameters.push_back({"", choices});
    return static_cast<int>(space.parameters.size()) - 1;
  };
  const std::int32_t outputs = square.y - square.r + 1;
  for (MapSpace::Level& level : space.levels) {
    level.order_column = add(720);
    level.parallel = {add(4), {0, 1, 2, 3}};
    for (const std::int32_t extent : {square.k, square.c, outputs, outputs}) {
      level.tiles.push_back({add(extent), {}});
    }
    for (int window = 0; window < 2; ++window) level.tiles.push_back({-1, {square.r}});
  }
  space.cluster = {add(machine().num_pes), {}};
  return space;
}

inline std::vector<std::int32_t> random_points(const gym::VectorSpace& space, std::int64_t count,
                                               std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> points;
  for (std::int64_t i = 0; i < count; ++i) {
    for (const gym::VectorSpace::Parameter& each : space.parameters) {
      points.push_back(static_cast<std::int32_t>(random() % each.choices));
    }
  }
  return points;
}

// Rows and statuses of a batch.
struct Results {
  std::vector<gym::Metrics> rows;
  std::vector<gym::Status> statuses;

  explicit Results(std::int64_t count) : rows(count), statuses(count) {}
};

}  // namespace driver
