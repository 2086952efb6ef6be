#include "grid.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "../core/integers.hpp"

namespace gym::relaxed {

namespace {

using Sizes = std::set<std::int64_t>;

// Divisors and halves.
Sizes handy(std::int64_t extent) {
  Sizes sizes;
  for (std::int64_t size = 1; size * size <= extent; ++size) {
    if (extent % size == 0) sizes.insert({size, extent / size});
  }
  for (std::int64_t half = extent; half > 1; half = ceil_div(half, 2)) sizes.insert(half);
  return sizes;
}

// Each a class; and those of what each of some units gets, times units.
std::vector<Class> handy(std::int64_t extent, int dim, const std::vector<Counts>& units) {
  Sizes sizes = handy(extent);
  std::int64_t all = 1;
  for (const Counts& each : units) all *= each[dim];
  if (all > 1) {
    for (std::int64_t size : handy(ceil_div(extent, all))) {
      sizes.insert(size);
      for (auto fanout = units.rbegin(); fanout != units.rend(); ++fanout) {
        size = std::min(extent, size * (*fanout)[dim]);
        sizes.insert(size);
      }
    }
  }
  std::vector<Class> found;
  for (const std::int64_t size : sizes) found.push_back({size, size});
  return found;
}

// Classes end where the tiles of the first memory begin, and where they end.
std::vector<Class> by_chunks(std::int64_t extent, double ratio, const Class& outer) {
  const std::array ends{outer.least - 1, outer.most};
  std::vector<Class> found;
  for (std::int64_t least = 1; least <= extent;) {
    const std::int64_t chunks = ceil_div(extent, least);
    std::int64_t most = chunks == 1 ? extent : (extent - 1) / (chunks - 1);
    for (const std::int64_t end : ends) {
      if (least <= end) most = std::min(most, end);
    }
    // The whole dimension is a class of its own: it is not cut.
    const bool joins = !found.empty() && most < extent &&
                       std::ranges::find(ends, found.back().most) == ends.end() &&
                       static_cast<double>(ceil_div(extent, found.back().least)) <=
                           ratio * static_cast<double>(chunks);
    if (joins) {
      found.back().most = most;
    } else {
      found.push_back({least, most});
    }
    least = most + 1;
  }
  return found;
}

}  // namespace

Grid::Grid(const Counts& extents, double ratio, const std::vector<Counts>& units,
           const std::array<Counts, 2>& outer) {
  for (int d = kLoops - 1; d >= 0; --d) {
    const Class tiles{outer[0][d], outer[1][d]};
    classes_[d] = ratio < 1 ? handy(extents[d], d, units) : by_chunks(extents[d], ratio, tiles);
    std::erase_if(classes_[d], [&](const Class& each) {
      return each.least > tiles.most && each.most < extents[d];
    });
    strides_[d] = states_;
    states_ *= std::ssize(classes_[d]);
  }
}

double Grid::least(const Table& costs, LoopSet dims, const Table& more) const {
  std::int64_t first = states_ - 1;
  for (int d = 0; d < kLoops; ++d) {
    if (has(dims, static_cast<LoopId>(d))) first -= strides_[d] * (std::ssize(classes_[d]) - 1);
  }
  double found = std::numeric_limits<double>::infinity();
  each(dims, [&](const auto& index) {
    std::int64_t state = first;
    for (int d = 0; d < kLoops; ++d) state += strides_[d] * index[d];
    const auto at = static_cast<std::size_t>(state);
    found = std::min(found, costs[at] + (more.empty() ? 0 : more[at]));
  });
  return found;
}

std::vector<std::int32_t> Grid::places(LoopSet dims) const {
  Counts strides{};
  std::int64_t stride = 1;
  for (int d = kLoops - 1; d >= 0; --d) {
    if (!has(dims, static_cast<LoopId>(d))) continue;
    strides[d] = stride;
    stride *= std::ssize(classes_[d]);
  }
  std::vector<std::int32_t> places;
  places.reserve(static_cast<std::size_t>(states_));
  each(kAllLoops, [&](const auto& index) {
    std::int64_t place = 0;
    for (int d = 0; d < kLoops; ++d) place += strides[d] * index[d];
    places.push_back(static_cast<std::int32_t>(place));
  });
  return places;
}

}  // namespace gym::relaxed
