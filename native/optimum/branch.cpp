#include "branch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "split.hpp"

namespace gym::optimum {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Parts with other innermost loops have as many sizes left as the whole, which is worth this much.
constexpr double kOrderWeight = 1.5;

// How much is left to look into: near the best cost a box is soon ruled out.
double work(const std::vector<Bounded>& parts, double best) {
  double sum = 0;
  for (const Bounded& part : parts) {
    if (part.bound >= best) continue;
    const double gap = best == kNever ? 1 : 1 - part.bound / best;
    sum += gap * gap;
  }
  return sum;
}

// The largest choice of a range that fits, if the least one does and larger ones need more.
template <typename Fits>
std::int32_t largest(Choices range, const Fits& fits) {
  if (fits(range.most)) return range.most;
  while (range.most - range.least > 1) {
    const std::int32_t middle = range.least + (range.most - range.least) / 2;
    (fits(middle) ? range.least : range.most) = middle;
  }
  return range.least;
}

}  // namespace

Brancher::Outcome Brancher::branch(Box& box, double best) {
  parts_.clear();
  axis_ = {Axis::kInnermost, 0};
  if (!trim(box)) return Outcome::kNothing;
  bounds_.enter(box);
  for (std::size_t level = 0; level < box.innermost.size(); ++level) {
    const std::vector<int> loops = bounds_.innermost(level);
    if (loops.empty()) return Outcome::kNothing;
    if (loops.size() == 1) box.innermost[level] = loops[0];
  }
  if (is_leaf(problem_, box)) return Outcome::kLeaf;
  split(box, best);
  return Outcome::kParts;
}

// Leaves out tiles too large for the buffers, however small the others are.
bool Brancher::trim(Box& box) const {
  if (!bounds_.fits(box)) return false;
  Box least = box;
  for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
    Tiles& tiles = box.tiles[i];
    Tiles& tried = least.tiles[i];
    tiles.outer.most = largest(tiles.outer, [&](std::int32_t choice) {
      tried.outer.least = choice;
      return bounds_.fits(least);
    });
    tried.outer.least = tiles.outer.least;
    tiles = without_doubles(problem_.loops[i], tiles);
    tiles.inner.most = largest(tiles.inner, [&](std::int32_t choice) {
      tried.inner.least = choice;
      return fits_inside(least, i);
    });
    tried.inner.least = tiles.inner.least;
  }
  return true;
}

// An inner tile needs an outer one as large.
bool Brancher::fits_inside(Box box, std::size_t i) const {
  const Loop& loop = problem_.loops[i];
  Tiles& tiles = box.tiles[i];
  const auto as_large =
      std::lower_bound(loop.outer.begin(), loop.outer.end(), loop.inner[tiles.inner.least]);
  const auto choice = static_cast<std::int32_t>(as_large - loop.outer.begin());
  tiles.outer.least = std::clamp(choice, tiles.outer.least, tiles.outer.most);
  return bounds_.fits(box);
}

void Brancher::split(const Box& box, double best) {
  std::vector<Bounded> parts;
  double least = kNever;
  const auto add = [&](const Box& part, double bound) {
    ++nodes_;
    parts.push_back({part, bound});
  };
  const auto compare = [&](Axis axis, double weight = 1) {
    const double left = parts.size() < 2 ? kNever : weight * work(parts, best);
    if (left < least) {
      parts_.swap(parts);
      axis_ = axis;
      least = left;
    }
    parts.clear();
  };
  Box part = box;
  for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
    const bool outer = !box.tiles[i].outer.single();
    for (const Tiles& tiles : gym::optimum::split(problem_.loops[i], box.tiles[i])) {
      part.tiles[i] = tiles;
      add(part, bounds_.least_with(i, tiles));
    }
    part.tiles[i] = box.tiles[i];
    compare({outer ? Axis::kOuter : Axis::kInner, i});
  }
  for (const Choices& cluster : gym::optimum::split(box.cluster)) {
    part.cluster = cluster;
    add(part, bounds_.least_with(cluster));
  }
  part.cluster = box.cluster;
  compare({Axis::kCluster, 0});
  for (std::size_t level = 0; level < box.innermost.size(); ++level) {
    for (const int loop : bounds_.innermost(level)) {
      part.innermost[level] = loop;
      add(part, bounds_.least_with(level, loop));
    }
    part.innermost[level] = box.innermost[level];
    compare({Axis::kInnermost, level}, kOrderWeight);
  }
}

}  // namespace gym::optimum
