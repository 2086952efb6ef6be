#include "box.hpp"

#include <algorithm>

#include "../core/integers.hpp"

namespace gym::optimum {

namespace {

using Dims = std::vector<std::int32_t>;

// Ranks of the orders of all dimensions in which those that move come last, `innermost` at the end.
std::vector<std::int32_t> ranks(std::size_t dims, Dims moving, std::int32_t innermost) {
  const auto moves = [&](std::int32_t d) {
    return d == innermost || std::find(moving.begin(), moving.end(), d) != moving.end();
  };
  Dims order;
  for (std::int32_t d = 0; d < static_cast<std::int32_t>(dims); ++d) {
    if (!moves(d)) order.push_back(d);
  }
  const auto still = static_cast<std::ptrdiff_t>(order.size());
  order.insert(order.end(), moving.begin(), moving.end());
  if (innermost != kNone) order.push_back(innermost);
  const auto begin = order.begin() + still;
  const auto end = begin + static_cast<std::ptrdiff_t>(moving.size());
  std::vector<std::int32_t> made;
  do made.push_back(rank_of(order));
  while (std::next_permutation(begin, end));
  return made;
}

Choices whole_range(const std::vector<std::int32_t>& sizes) {
  return {0, static_cast<std::int32_t>(sizes.size()) - 1};
}

bool within(Choices range, const std::vector<std::int32_t>& sizes) {
  return 0 <= range.least && range.least <= range.most && range.most < std::ssize(sizes);
}

void choose(std::vector<std::int32_t>& point, const Choice& from, std::int32_t choice) {
  if (from.column >= 0) point[from.column] = choice;
}

}  // namespace

Tiles without_doubles(const Loop& loop, Tiles tiles) {
  const auto first =
      std::lower_bound(loop.inner.begin(), loop.inner.end(), loop.outer[tiles.outer.most]);
  const auto last = static_cast<std::int32_t>(first - loop.inner.begin());
  tiles.inner.most = std::min(tiles.inner.most, last);
  if (tiles.inner.least > 0) {
    const auto larger =
        std::upper_bound(loop.outer.begin(), loop.outer.end(), loop.inner[tiles.inner.least - 1]);
    const auto least = static_cast<std::int32_t>(larger - loop.outer.begin());
    tiles.outer.least = std::max(tiles.outer.least, least);
  }
  return tiles;
}

std::vector<Box> all_mappings(const Problem& problem) {
  Box all{};
  all.innermost = {kAny, kAny};
  all.cluster = whole_range(problem.clusters);
  for (std::size_t i = 0; i < problem.loops.size(); ++i) {
    const Loop& loop = problem.loops[i];
    all.tiles[i] = without_doubles(loop, {whole_range(loop.outer), whole_range(loop.inner)});
  }
  std::vector<Box> boxes;
  for (const Problem::Parallel& outer : problem.parallel[0]) {
    for (const Problem::Parallel& inner : problem.parallel[1]) {
      all.parallel = {outer.loop, inner.loop};
      boxes.push_back(all);
    }
  }
  return boxes;
}

bool belongs(const Problem& problem, const Box& box) {
  const auto loops = static_cast<int>(problem.loops.size());
  bool good = within(box.cluster, problem.clusters);
  for (std::size_t level = 0; level < box.parallel.size(); ++level) {
    const auto& allowed = problem.parallel[level];
    good &= std::any_of(allowed.begin(), allowed.end(), [&](const Problem::Parallel& each) {
      return each.loop == box.parallel[level];
    });
    good &= box.innermost[level] >= kAny && box.innermost[level] < loops;
  }
  for (std::size_t i = 0; i < problem.loops.size(); ++i) {
    good &= within(box.tiles[i].outer, problem.loops[i].outer);
    good &= within(box.tiles[i].inner, problem.loops[i].inner);
  }
  return good;
}

bool is_leaf(const Problem& problem, const Box& box) {
  if (!box.cluster.single() || box.innermost[0] == kAny || box.innermost[1] == kAny) return false;
  for (std::size_t i = 0; i < problem.loops.size(); ++i) {
    if (!box.tiles[i].outer.single() || !box.tiles[i].inner.single()) return false;
  }
  return true;
}

std::vector<std::int32_t> points_of(const Problem& problem, const Box& leaf) {
  const MapSpace& space = problem.space;
  // Loops that no mapping cuts have their last choice.
  std::vector<std::int32_t> point;
  for (const MapSpace::Parameter& parameter : space.parameters) {
    point.push_back(parameter.choices - 1);
  }
  const Index cluster = problem.clusters[leaf.cluster.least];
  const std::array<Index, 2> units{problem.hardware.num_pes / cluster, cluster};
  choose(point, space.cluster, leaf.cluster.least);
  std::array<std::vector<std::int32_t>, 2> orders;
  for (std::size_t level = 0; level < orders.size(); ++level) {
    Dims moving;
    for (std::size_t i = 0; i < problem.loops.size(); ++i) {
      const Loop& loop = problem.loops[i];
      const Index above = level == 0 ? loop.extent : loop.outer[leaf.tiles[i].outer.least];
      const std::int32_t choice =
          level == 0 ? leaf.tiles[i].outer.least : leaf.tiles[i].inner.least;
      choose(point, space.levels[level].tiles[loop.dim], choice);
      const Index tile =
          level == 0 ? loop.outer[choice] : std::min<Index>(loop.inner[choice], above);
      const Index dealt = leaf.parallel[level] == static_cast<int>(i) ? units[level] : 1;
      const bool moves = ceil_div(ceil_div(above, tile), dealt) > 1;
      if (moves && static_cast<int>(i) != leaf.innermost[level]) {
        moving.push_back(static_cast<std::int32_t>(loop.dim));
      }
    }
    for (const Problem::Parallel& each : problem.parallel[level]) {
      if (each.loop == leaf.parallel[level]) {
        choose(point, space.levels[level].parallel, each.choice);
      }
    }
    std::sort(moving.begin(), moving.end());
    const int x = leaf.innermost[level];
    orders[level] = ranks(space.dims.size(), moving,
                          x == kNone ? kNone : static_cast<std::int32_t>(problem.loops[x].dim));
  }
  std::vector<std::int32_t> points;
  for (const std::int32_t first : orders[0]) {
    for (const std::int32_t second : orders[1]) {
      point[space.levels[0].order_column] = first;
      point[space.levels[1].order_column] = second;
      points.insert(points.end(), point.begin(), point.end());
    }
  }
  return points;
}

}  // namespace gym::optimum
