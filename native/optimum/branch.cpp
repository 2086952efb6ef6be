#include "branch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "../core/integers.hpp"

namespace gym::optimum {

namespace {

// Parts with other innermost loops have as many sizes left as the whole, which is worth this much.
constexpr double kOrderWeight = 1.5;
// Below this, gaps are alike.
constexpr double kNoGap = 1e-9;
// Of a range, at most.
constexpr std::int32_t kParts = 8;

// How far a bound is below the best cost, as a share of it; 0 where it rules a box out.
double gap(double bound, double best) {
  return best == kNever ? 1 : std::max(0.0, 1 - bound / best);
}

double cube(double x) { return x * x * x; }

// How much is left to look into: near the best cost a box is soon ruled out.
double work(const std::vector<Bounded>& parts, double best) {
  double sum = 0;
  for (const Bounded& part : parts) sum += cube(gap(part.bound, best));
  return sum / static_cast<double>(parts.size());
}

Choices middle(Choices range) {
  const std::int32_t choice = range.least + (range.most - range.least) / 2;
  return {choice, choice};
}

Tiles middle(const Loop& loop, const Tiles& tiles) {
  const Tiles cut = without_doubles(loop, {middle(tiles.outer), tiles.inner});
  return {cut.outer, middle(cut.inner)};
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

// Cuts a range into parts of about the same number of choices, ...
std::vector<Choices> evenly(Choices range) {
  const std::int32_t count = range.most - range.least + 1;
  const std::int32_t parts = std::min(count, kParts);
  std::vector<Choices> made;
  for (std::int32_t i = 0; i < parts; ++i) {
    made.push_back({range.least + count * i / parts, range.least + count * (i + 1) / parts - 1});
  }
  return made;
}

// The first choice behind one, or behind the range, whose number is another one: these do not rise
// with the choice. Most often it is near.
template <typename Key>
std::int32_t next_key(std::int32_t choice, std::int32_t most, const Key& key) {
  const Index same = key(choice);
  std::int32_t step = 1;
  while (step <= most - choice && key(choice + step) == same) {
    choice += step;
    step *= 2;
  }
  for (; step > 0; step /= 2) {
    if (step <= most - choice && key(choice + step) == same) choice += step;
  }
  return choice + 1;
}

// ... or, if they differ in some number, of about as many of these numbers.
template <typename Key>
std::vector<Choices> by_key(Choices range, const Key& key) {
  if (key(range.least) == key(range.most)) return evenly(range);
  std::vector<std::int32_t> first;  // choice of every number
  for (std::int32_t choice = range.least; choice <= range.most;) {
    first.push_back(choice);
    choice = next_key(choice, range.most, key);
  }
  first.push_back(range.most + 1);
  std::vector<Choices> made;
  for (const Choices& part : evenly({0, static_cast<std::int32_t>(first.size()) - 2})) {
    made.push_back({first[part.least], first[part.most + 1] - 1});
  }
  return made;
}

// Parts of a loop's outer tiles, by the chunks they make; none if there is one.
std::vector<Tiles> outer_parts(const Loop& loop, const Tiles& tiles) {
  std::vector<Tiles> made;
  if (tiles.outer.single()) return made;
  const auto chunks = [&](std::int32_t choice) {
    return ceil_div(loop.extent, loop.outer[choice]);
  };
  for (const Choices& part : by_key(tiles.outer, chunks)) {
    made.push_back(without_doubles(loop, {part, tiles.inner}));
  }
  return made;
}

// The same of the inner ones.
std::vector<Tiles> inner_parts(const Loop& loop, const Tiles& tiles) {
  std::vector<Tiles> made;
  if (tiles.inner.single()) return made;
  const Index tile = loop.outer[tiles.outer.most];
  const auto chunks = [&](std::int32_t choice) { return ceil_div(tile, loop.inner[choice]); };
  for (const Choices& part : by_key(tiles.inner, chunks)) {
    made.push_back(without_doubles(loop, {tiles.outer, part}));
  }
  return made;
}

// Parts of a range of cluster sizes; none if it is one.
std::vector<Choices> parts_of(Choices cluster) {
  return cluster.single() ? std::vector<Choices>{} : evenly(cluster);
}

Choices& range_of(Box& box, Axis axis) {
  if (axis.kind == Axis::kCluster) return box.cluster;
  Tiles& tiles = box.tiles[axis.index];
  return axis.kind == Axis::kOuter ? tiles.outer : tiles.inner;
}

}  // namespace

Brancher::Outcome Brancher::branch(Box& box, double best) {
  parts_.clear();
  cuts_.clear();
  axis_ = {Axis::kInnermost, 0};
  const bool shorter = lemmas_ == Lemmas::kAll;
  if (shorter && !(leave_doubles(box) && leave_mirrored(box))) return Outcome::kNothing;
  if (!leave_largest(box)) return Outcome::kNothing;
  if (!trim(box)) return Outcome::kNothing;
  bounds_.enter(box, best);
  for (std::size_t level = 0; level < box.innermost.size(); ++level) {
    const SomeLoops loops = bounds_.innermost(level);
    if (loops.size() == 0) return Outcome::kNothing;
    if (loops.size() == 1) box.innermost[level] = loops[0];
  }
  if (is_leaf(problem_, box)) return Outcome::kLeaf;
  split(box, best);
  for (Bounded& part : parts_) narrow(part.box);
  return parts_.empty() ? Outcome::kNothing : Outcome::kParts;
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

// Whether it makes no difference that a level deals this loop: to one unit, or one chunk.
bool Brancher::is_inert(const Box& box, std::size_t level, int loop) const {
  if (loop == kNone) return true;
  const Index cluster = problem_.clusters[level == 0 ? box.cluster.least : box.cluster.most];
  if ((level == 0 ? problem_.hardware.num_pes / cluster : cluster) == 1) return true;
  const Loop& dealt = problem_.loops[static_cast<std::size_t>(loop)];
  const Tiles& tiles = box.tiles[static_cast<std::size_t>(loop)];
  return level == 0 ? dealt.outer[tiles.outer.least] == dealt.extent
                    : dealt.inner[tiles.inner.least] >= dealt.outer[tiles.outer.most];
}

// Of mappings that differ only in which loop they deal where that makes no difference, leaves those
// that deal the first such; false if none are left.
bool Brancher::leave_doubles(Box& box) const {
  for (std::size_t level = 0; level < box.parallel.size(); ++level) {
    const int dealt = box.parallel[level];
    bool inert_before = false;
    for (const Problem::Parallel& each : problem_.parallel[level]) {
      if (each.loop == dealt) break;
      inert_before |= is_inert(box, level, each.loop);
    }
    if (dealt == problem_.parallel[level].front().loop) continue;
    if (inert_before && is_inert(box, level, dealt)) return false;
    Choices& cluster = box.cluster;
    if (level == 0) {
      while (problem_.hardware.num_pes / problem_.clusters[cluster.most] == 1) {
        if (cluster.single()) return false;
        --cluster.most;
      }
    } else {
      while (problem_.clusters[cluster.least] == 1) {
        if (cluster.single()) return false;
        ++cluster.least;
      }
    }
  }
  return true;
}

// Of two mappings that mirror each other, rows for columns, leaves the one that deals loops which
// come first, or whose tiles of rows are the smaller ones; false if none are left.
bool Brancher::leave_mirrored(Box& box) const {
  if (problem_.mirror.empty()) return true;
  for (std::size_t level = 0; level < box.parallel.size(); ++level) {
    const int dealt = box.parallel[level];
    const int other = dealt == kNone ? kNone : problem_.mirror[static_cast<std::size_t>(dealt)];
    if (other == dealt) continue;
    for (const Problem::Parallel& each : problem_.parallel[level]) {
      if (each.loop == dealt) return true;
      if (each.loop == other) return false;
    }
  }
  Choices& rows = box.tiles[static_cast<std::size_t>(problem_.index_of(kLoopP))].outer;
  Choices& columns = box.tiles[static_cast<std::size_t>(problem_.index_of(kLoopQ))].outer;
  rows.most = std::min(rows.most, columns.most);
  columns.least = std::max(columns.least, rows.least);
  return rows.least <= rows.most && columns.least <= columns.most;
}

// Of cluster sizes that differ in idle PEs alone, leaves the largest one, which needs least of L1;
// false if none are left.
bool Brancher::leave_largest(Box& box) const {
  const std::vector<std::int32_t>& sizes = problem_.clusters;
  const Index pes = problem_.hardware.num_pes;
  Index most_pieces = 1, most_chunks = 1;
  if (const int dealt = box.parallel[0]; dealt != kNone) {
    const Loop& loop = problem_.loops[static_cast<std::size_t>(dealt)];
    most_pieces = ceil_div(loop.extent, loop.outer[box.tiles[dealt].outer.least]);
  }
  if (const int dealt = box.parallel[1]; dealt != kNone) {
    const Loop& loop = problem_.loops[static_cast<std::size_t>(dealt)];
    const Tiles& tiles = box.tiles[dealt];
    most_chunks = ceil_div(loop.outer[tiles.outer.most], loop.inner[tiles.inner.least]);
  }
  // The last choice up to a size.
  const auto up_to = [&](Index size) {
    return static_cast<std::int32_t>(std::upper_bound(sizes.begin(), sizes.end(), size) -
                                     sizes.begin()) -
           1;
  };
  Choices& cluster = box.cluster;
  if (sizes[cluster.least] >= most_chunks) {
    cluster.least = up_to(pes / std::min(pes / sizes[cluster.least], most_pieces));
  }
  if (sizes[cluster.most] >= most_chunks && cluster.least <= cluster.most) {
    const Index working = std::min(pes / sizes[cluster.most], most_pieces);
    if (up_to(pes / working) > cluster.most) {
      const Index alike = working == most_pieces ? 1 : pes / (working + 1) + 1;
      cluster.most = up_to(std::max(alike, most_chunks) - 1);
    }
  }
  return cluster.least <= cluster.most;
}

void Brancher::split(const Box& box, double best) {
  best_ = best;
  kept_ = box;
  least_work_ = kNever;
  const double whole = bounds_.least();
  ++nodes_;
  if (lemmas_ == Lemmas::kAll && whole >= best) return;
  whole_gap_ = gap(whole, best) + kNoGap;
  for (std::size_t i = 0; i < problem_.loops.size(); ++i) split_tiles(box, i);
  split_cluster(box);
  for (std::size_t level = 0; level < box.innermost.size(); ++level) split_orders(box, level);
  const auto of_parts = [this](const Cut& cut) {
    const bool tiles = axis_.kind == Axis::kOuter || axis_.kind == Axis::kInner;
    return tiles ? cut.axis.kind != Axis::kCluster && cut.axis.index == axis_.index
                 : cut.axis.kind == axis_.kind;
  };
  std::erase_if(cuts_, of_parts);
}

void Brancher::split_tiles(Box box, std::size_t i) {
  const Loop& loop = problem_.loops[i];
  const Tiles all = box.tiles[i];
  try_tiles(box, {Axis::kOuter, i}, outer_parts(loop, all));
  try_tiles(box, {Axis::kInner, i}, inner_parts(loop, all));
}

void Brancher::try_tiles(Box box, Axis axis, const std::vector<Tiles>& parts) {
  if (parts.empty()) return;
  const Tiles all = box.tiles[axis.index];
  for (const Tiles& tiles : parts) {
    box.tiles[axis.index] = tiles;
    add(box, bounds_.least_with(axis.index, tiles));
  }
  cut(axis);
  compare(axis, weight(bounds_.least_with(axis.index, middle(problem_.loops[axis.index], all))));
}

void Brancher::split_cluster(Box box) {
  const Choices all = box.cluster;
  for (const Choices& cluster : parts_of(all)) {
    box.cluster = cluster;
    add(box, bounds_.least_with(cluster));
  }
  if (tried_.empty()) return;
  cut({Axis::kCluster, 0});
  compare({Axis::kCluster, 0}, weight(bounds_.least_with(middle(all))));
}

void Brancher::split_orders(Box box, std::size_t level) {
  for (const int loop : bounds_.innermost(level)) {
    box.innermost[level] = loop;
    add(box, bounds_.least_with(level, loop));
  }
  compare({Axis::kInnermost, level}, kOrderWeight);
}

void Brancher::add(const Box& part, double bound) {
  ++nodes_;
  tried_.push_back({part, bound});
}

// Notes which choices of an axis may cost less than the best: all between the first and the last
// part that may, whatever the others are.
void Brancher::cut(Axis axis) {
  const auto may = [&](const Bounded& part) { return part.bound < best_; };
  const auto first = std::find_if(tried_.begin(), tried_.end(), may);
  const auto last = std::find_if(tried_.rbegin(), tried_.rend(), may);
  // Then none of the parts is looked into.
  if (first == tried_.end()) return;
  for (auto part = tried_.begin(); part != first; ++part) {
    cuts_.push_back({axis, true, range_of(part->box, axis).most + 1});
  }
  for (auto part = tried_.rbegin(); part != last; ++part) {
    cuts_.push_back({axis, false, range_of(part->box, axis).least - 1});
  }
  Choices& range = range_of(kept_, axis);
  range = {range_of(first->box, axis).least, range_of(last->box, axis).most};
}

// Leaves of a part what was noted of the other axes.
void Brancher::narrow(Box& part) const {
  const Box whole = std::exchange(part, kept_);
  part.innermost = whole.innermost;
  if (axis_.kind == Axis::kCluster) part.cluster = whole.cluster;
  if (axis_.kind == Axis::kOuter || axis_.kind == Axis::kInner) {
    part.tiles[axis_.index] = whole.tiles[axis_.index];
  }
  for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
    part.tiles[i] = without_doubles(problem_.loops[i], part.tiles[i]);
  }
}

// Where all parts are as near to the best cost as the whole, those of sizes that matter are better:
// once the sizes are chosen, the bound rises.
double Brancher::weight(double bound_of_middle) {
  ++nodes_;
  return std::sqrt(std::sqrt((gap(bound_of_middle, best_) + kNoGap) / whole_gap_));
}

void Brancher::compare(Axis axis, double weight) {
  const double left = tried_.size() < 2 ? kNever : weight * work(tried_, best_);
  if (left < least_work_) {
    parts_.swap(tried_);
    axis_ = axis;
    least_work_ = left;
  }
  tried_.clear();
}

}  // namespace gym::optimum
