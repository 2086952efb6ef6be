// Points of a map space any problem may have, evaluated together and one by one.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "../../native/evaluate/batch.hpp"
#include "fuzz_input.hpp"
#include "problems.hpp"

namespace driver {

// A block side by side, and part of another.
inline constexpr std::int64_t kTogether = 12;
inline constexpr std::int32_t kMostTiles = 4096;

class AnySpace {
 public:
  AnySpace(const Problem& problem, std::uint64_t seed) : problem_(problem), random_(seed) {}

  gym::MapSpace make() {
    list_dims();
    const auto dims = static_cast<std::int32_t>(space_.dims.size());
    for (gym::MapSpace::Level& level : space_.levels) {
      std::int32_t orders = 1;
      for (std::int32_t n = 2; n <= dims; ++n) orders *= n;
      level.order_column = add(orders);
      level.parallel.column = add(dims);
      for (std::int32_t d = 0; d < dims; ++d) level.parallel.values.push_back(d);
      for (const gym::Dim dim : space_.dims) level.tiles.push_back(tiles_of(dim));
    }
    space_.cluster = {add(std::clamp(problem_.hardware.num_pes, 1, kMostTiles)), {}};
    return space_;
  }

 private:
  bool rarely() { return random_() % 16 == 0; }

  std::int32_t add(std::int32_t choices) {
    space_.parameters.push_back({"", choices});
    return static_cast<std::int32_t>(space_.parameters.size()) - 1;
  }

  void list_dims() {
    const bool slides = gym::is_convolution(problem_.layer.op) && !rarely();
    for (const gym::Layer::Extent& each : problem_.layer.extents) {
      const bool axis = slides && (each.dim == gym::kY || each.dim == gym::kX);
      const gym::Dim dim = axis ? gym::output_axis(each.dim) : each.dim;
      const bool known = std::count(space_.dims.begin(), space_.dims.end(), dim) > 0;
      if (!known && space_.dims.size() < kMostDims && !rarely()) space_.dims.push_back(dim);
    }
    if (space_.dims.empty()) space_.dims.push_back(gym::kC);
  }

  gym::Choice tiles_of(gym::Dim dim) {
    const std::int32_t extent = std::max(outputs_of(dim), 1);
    const bool whole = dim == gym::kR || dim == gym::kS ? !rarely() : rarely();
    if (whole) return {-1, {extent}};
    return {add(std::min(extent, kMostTiles)), {}};
  }

  std::int32_t outputs_of(gym::Dim dim) const {
    const gym::Layer& layer = problem_.layer;
    for (const gym::Dim axis : {gym::kY, gym::kX}) {
      if (dim != gym::output_axis(axis) || detail::extent_of(layer, dim) > 1) continue;
      const std::int64_t rows = detail::extent_of(layer, axis);
      const std::int64_t window = detail::extent_of(layer, gym::window_of(axis));
      const std::int64_t stride = std::max(layer.stride[axis], 1);
      return static_cast<std::int32_t>(std::max<std::int64_t>((rows - window) / stride + 1, 1));
    }
    return detail::extent_of(layer, dim);
  }

  static constexpr std::size_t kMostDims = 7;

  const Problem& problem_;
  std::mt19937_64 random_;
  gym::MapSpace space_;
};

inline bool same_bits(const gym::Metrics& one, const gym::Metrics& other) {
  const auto* a = reinterpret_cast<const double*>(&one);
  const auto* b = reinterpret_cast<const double*>(&other);
  for (std::size_t c = 0; c < gym::kMetrics; ++c) {
    const bool neither = a[c] != a[c] && b[c] != b[c];
    if (!neither && std::memcmp(&a[c], &b[c], sizeof(double)) != 0) return false;
  }
  return true;
}

// Whether points have the rows and statuses together that each has alone.
inline bool batches_agree(const Problem& problem, std::uint64_t seed) {
  if (!gym::loop_nest(problem.layer)) return true;
  const gym::MapSpace space = AnySpace(problem, seed).make();
  const std::vector<std::int32_t> points = random_points(space, kTogether, seed);
  for (const std::string model : {"exact", "maestro"}) {
    for (const bool guarded : {false, true}) {
      gym::BatchEvaluator evaluator({model, problem.layer, problem.hardware, guarded});
      Results together(kTogether), alone(kTogether);
      evaluator.evaluate({space, points.data(), kTogether}, 1, together.rows.data(),
                         together.statuses.data());
      for (std::int64_t i = 0; i < kTogether; ++i) {
        const std::size_t at = static_cast<std::size_t>(i) * space.parameters.size();
        evaluator.evaluate({space, &points[at], 1}, 1, &alone.rows[i], &alone.statuses[i]);
        if (together.statuses[i] != alone.statuses[i]) return false;
        if (!same_bits(together.rows[i], alone.rows[i])) return false;
      }
    }
  }
  return true;
}

}  // namespace driver
