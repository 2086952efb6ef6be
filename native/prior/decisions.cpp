#include "decisions.hpp"

#include <algorithm>
#include <cmath>

#include "../core/integers.hpp"

namespace gym::prior {

namespace {

// Loops in the order in which their tiles are chosen: windows last, as they are cut least.
constexpr std::array<LoopId, kLoops> kTileOrder = {kLoopK, kLoopC, kLoopG, kLoopN,
                                                   kLoopP, kLoopQ, kLoopR, kLoopS};
// Below so many sizes all are options.
constexpr std::int64_t kFew = 24;

// Collects sizes between two ends, each once; the first ones collected are kept.
class Sizes {
 public:
  Sizes(std::int64_t least, std::int64_t most, Options& options)
      : least_(least), most_(most), options_(options) {}

  void add(std::int64_t size) {
    if (size < least_ || size > most_) return;
    const std::int64_t* first = options_.value.data();
    const std::int64_t* end = first + options_.count;
    if (std::find(first, end, size) == end) options_.add(size);
  }
  void add_all() {
    for (std::int64_t size = least_; size <= most_; ++size) add(size);
  }
  // Those that cut an extent into so many chunks of one size, each number once or thinned out.
  void add_even(std::int64_t extent) {
    std::int64_t last = 0;
    for (std::int64_t chunks = 1; chunks <= extent;
         chunks += std::max<std::int64_t>(1, chunks / 6)) {
      const std::int64_t size = ceil_div(extent, chunks);
      if (size != last) add(size);
      last = size;
    }
  }
  void add_powers() {
    for (std::int64_t size = 1; size <= most_; size *= 2) add(size);
  }

 private:
  std::int64_t least_, most_;
  Options& options_;
};

}  // namespace

Decisions::Decisions(const LoopNest& nest, Operator op, const Hardware& hardware, Masks& masks)
    : nest_(nest), hardware_(hardware), masks_(masks) {
  const auto loops = loops_of(op);
  for (const Dim dim : space().dims) loop_.push_back(loops[dim]);
  const std::size_t dims = loop_.size();
  if (space().levels[0].parallel.column >= 0) steps_.push_back({kOuterParallel, 0, 0});
  if (space().levels[1].parallel.column >= 0) steps_.push_back({kInnerParallel, 1, 0});
  if (space().cluster.column >= 0) {
    steps_.push_back({kDealtTile, 0, 0});
    steps_.push_back({kCluster, 0, 0});
  }
  for (std::size_t level = 0; level < 2; ++level) {
    for (const LoopId id : kTileOrder) {
      const auto dim =
          static_cast<std::size_t>(std::find(loop_.begin(), loop_.end(), id) - loop_.begin());
      if (dim == dims || space().levels[level].tiles[dim].column < 0) continue;
      steps_.push_back({(level == 0 ? kOuterTile : kInnerTile) + int{id}, level, dim});
    }
  }
  for (std::size_t level = 0; level < 2; ++level) {
    for (std::size_t place = 0; place < dims; ++place) {
      steps_.push_back({level == 0 ? kOuterOrder : kInnerOrder, level, 0});
    }
  }
}

std::size_t Decisions::dim_of(const Step& step, const Partial& partial) const {
  if (step.decision != kDealtTile) return step.dim;
  const auto found = std::find(loop_.begin(), loop_.end(), partial.parallel[1]);
  return static_cast<std::size_t>(found - loop_.begin());
}

bool Decisions::is_dealt_before(const Step& step, const Partial& partial) const {
  const bool asked =
      space().cluster.column >= 0 && step.decision >= kOuterTile && step.decision < kInnerTile;
  return asked && loop(step.dim) == partial.parallel[1];
}

const Choice& Decisions::choice(const Step& step, const Partial& partial) const {
  const MapSpace::Level& level = space().levels[step.level];
  if (step.decision == kCluster) return space().cluster;
  return step.decision <= kInnerParallel ? level.parallel : level.tiles[dim_of(step, partial)];
}

Partial Decisions::begin() const {
  Partial partial;
  partial.point = masks_.least();
  for (std::size_t level = 0; level < 2; ++level) {
    const MapSpace::Level& from = space().levels[level];
    if (from.parallel.column < 0) {
      partial.parallel[level] = loop_[static_cast<std::size_t>(from.parallel.values[0])];
    }
    partial.tile[level].fill(1);
    for (std::size_t dim = 0; dim < loop_.size(); ++dim) {
      if (from.tiles[dim].column < 0) {
        partial.tile[level][loop_[dim]] =
            std::min<std::int64_t>(from.tiles[dim].values[0], above(level, loop_[dim], partial));
      }
    }
  }
  if (space().cluster.column < 0) {
    partial.units = {hardware_.num_pes / space().cluster.values[0], space().cluster.values[0]};
  }
  return partial;
}

std::int64_t Decisions::passes(std::size_t level, LoopId id, const Partial& partial) const {
  const std::int64_t chunks = ceil_div(above(level, id, partial), partial.tile[level][id]);
  return id == partial.parallel[level] ? ceil_div(chunks, partial.units[level]) : chunks;
}

std::vector<std::uint8_t> Decisions::loops_to_order(std::size_t level,
                                                    const Partial& partial) const {
  std::vector<std::uint8_t> left;
  const std::vector<std::uint8_t>& placed = partial.order[level];
  for (std::size_t dim = 0; dim < loop_.size(); ++dim) {
    const auto each = static_cast<std::uint8_t>(dim);
    const bool placed_before = std::find(placed.begin(), placed.end(), each) != placed.end();
    if (!placed_before && passes(level, loop_[dim], partial) > 1) left.push_back(each);
  }
  return left;
}

void Decisions::list(const Step& step, const Partial& partial, Options& options) {
  options.count = 0;
  Partial tried = partial;
  if (step.decision >= kOuterOrder) {
    for (const std::uint8_t dim : loops_to_order(step.level, partial)) options.add(dim);
    return;
  }
  const Choice& choice = this->choice(step, partial);
  if (choice.column < 0 || is_dealt_before(step, partial)) return;
  const auto column = static_cast<std::size_t>(choice.column);
  if (step.decision == kInnerParallel) {
    for (const std::int32_t dim : choice.values) options.add(dim);
  } else if (step.decision == kOuterParallel) {
    tried.point[column] = Masks::kOpen;
    const std::vector<bool> mask = masks_.try_all(tried.point.data(), column);
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i]) options.add(choice.values[i]);
    }
  } else {
    const std::int32_t fitting = masks_.count(tried.point.data(), column);
    const std::int32_t choices = space().parameters[column].choices;
    const auto size = [&](std::int32_t index) {
      return std::int64_t{choice.values.empty() ? index + 1
                                                : choice.values[static_cast<std::size_t>(index)]};
    };
    if (step.decision == kCluster) {
      list_clusters(partial, size(choices - std::max(fitting, 1)), options);
    } else {
      list_sizes(step, partial, size(std::max(fitting, 1) - 1), options);
    }
  }
}

void Decisions::list_sizes(const Step& step, const Partial& partial, std::int64_t most,
                           Options& options) const {
  const LoopId id = loop(dim_of(step, partial));
  const Choice& choice = this->choice(step, partial);
  const std::int64_t extent = above(step.level, id, partial);
  most = std::min(most, extent);
  Sizes sizes(1, most, options);
  if (!choice.values.empty()) {
    for (const std::int32_t size : choice.values) sizes.add(size);
    // A larger tile than the one around it is cut to that.
    if (options.count == 0) options.add(choice.values[0]);
    return;
  }
  if (most <= kFew) return sizes.add_all();
  sizes.add(most);
  if (id == partial.parallel[step.level]) {
    const std::int64_t units = partial.units[step.level];
    for (std::int64_t rounds = 1; rounds <= 8; ++rounds) {
      sizes.add(ceil_div(extent, units * rounds));
      // With a short round at the end.
      sizes.add(extent / (units * rounds));
    }
  }
  if (step.decision == kDealtTile) {
    // What fills clusters of which the outer loop fills all, or which all PEs divide into.
    const std::int64_t pes = hardware_.num_pes;
    const std::int64_t outer = nest_.extent[partial.parallel[0]];
    for (std::int64_t rounds = 1; rounds <= 4; ++rounds) {
      const std::int64_t size = pes / std::min(pes, ceil_div(outer, rounds));
      for (std::int64_t each = 1; each <= 3; ++each) sizes.add(size * each);
    }
    for (std::int64_t clusters = 1; clusters <= 12; ++clusters) sizes.add(pes / clusters);
  } else if (step.level == 0 && id == partial.parallel[1]) {
    // What gives all PEs of a cluster equal work.
    const std::int64_t pes = partial.units[1];
    for (std::int64_t each = 1; each <= 12; ++each) sizes.add(pes * each);
    for (std::int64_t chunks = 1; chunks <= 8; ++chunks) {
      sizes.add(ceil_div(ceil_div(extent, chunks), pes) * pes);
    }
  }
  for (std::int64_t size = 1; size <= 16; ++size) sizes.add(size);
  sizes.add_even(extent);
  sizes.add_powers();
}

std::int64_t Decisions::outer_work(const Partial& partial) const {
  const LoopId outer = partial.parallel[0];
  const std::int64_t extent = nest_.extent[outer];
  return outer == partial.parallel[1] ? ceil_div(extent, partial.tile[0][outer]) : extent;
}

void Decisions::list_clusters(const Partial& partial, std::int64_t least, Options& options) const {
  const std::int64_t pes = hardware_.num_pes;
  Sizes sizes(least, pes, options);
  if (!space().cluster.values.empty()) {
    for (const std::int32_t size : space().cluster.values) sizes.add(size);
    return;
  }
  if (pes - least < kFew) return sizes.add_all();
  sizes.add(least);
  sizes.add(pes);
  // Clusters that the outer loop fills, and PEs that the inner one fills.
  const std::int64_t outer = outer_work(partial);
  const std::int64_t inner = partial.tile[0][partial.parallel[1]];
  for (std::int64_t rounds = 1; rounds <= 6; ++rounds) {
    sizes.add(pes / std::min(pes, ceil_div(outer, rounds)));
    sizes.add(ceil_div(inner, rounds));
  }
  for (std::int64_t clusters = 1; clusters <= 16; ++clusters) sizes.add(pes / clusters);
  for (std::int64_t size = 1; size <= 16; ++size) sizes.add(size);
  sizes.add_even(pes);
  sizes.add_powers();
}

void Decisions::take(const Step& step, std::int64_t value, Partial& partial) const {
  const std::size_t level = step.level;
  if (step.decision >= kOuterOrder) {
    partial.order[level].push_back(static_cast<std::uint8_t>(value));
    return;
  }
  const Choice& choice = this->choice(step, partial);
  const auto index =
      choice.values.empty()
          ? value - 1
          : std::find(choice.values.begin(), choice.values.end(), value) - choice.values.begin();
  partial.point[static_cast<std::size_t>(choice.column)] = static_cast<std::int32_t>(index);
  if (step.decision == kCluster) {
    partial.units = {hardware_.num_pes / value, value};
  } else if (step.decision <= kInnerParallel) {
    partial.parallel[level] = loop(static_cast<std::size_t>(value));
  } else {
    const LoopId id = loop(dim_of(step, partial));
    partial.tile[level][id] = std::min(value, above(level, id, partial));
  }
}

void Decisions::finish(Partial& partial) const {
  for (std::size_t level = 0; level < 2; ++level) {
    // Loops without choice are outermost; where they stand does not matter.
    std::vector<std::int32_t> order(partial.order[level].rbegin(), partial.order[level].rend());
    for (std::size_t dim = loop_.size(); dim-- > 0;) {
      const auto each = static_cast<std::int32_t>(dim);
      if (std::find(order.begin(), order.end(), each) == order.end()) {
        order.insert(order.begin(), each);
      }
    }
    partial.point[static_cast<std::size_t>(space().levels[level].order_column)] = rank_of(order);
  }
}

std::size_t Decisions::advance(std::size_t at, Partial& partial, Options& options) {
  for (; at < steps_.size(); ++at) {
    list(steps_[at], partial, options);
    if (options.count > 1) return at;
    if (options.count == 1) take(steps_[at], options.value[0], partial);
  }
  options.count = 0;
  finish(partial);
  return at;
}

int Decisions::chosen(const Step& step, const Partial& partial, const std::int32_t* point,
                      const Options& options) const {
  const std::int64_t* first = options.value.data();
  const std::int64_t* end = first + options.count;
  if (step.decision >= kOuterOrder) {
    const MapSpace::Order& order = *space().read(point).level[step.level].order;
    for (std::size_t i = loop_.size(); i-- > 0;) {
      const std::int64_t* found = std::find(first, end, order[i]);
      if (found != end) return static_cast<int>(found - first);
    }
    return 0;
  }
  const std::int64_t wanted = choice(step, partial).pick(point);
  const std::int64_t* found = std::find(first, end, wanted);
  if (found != end || step.decision <= kInnerParallel) {
    return found == end ? 0 : static_cast<int>(found - first);
  }
  // The nearest size, of those with as many chunks if there are.
  const std::int64_t whole = step.decision == kCluster
                                 ? hardware_.num_pes
                                 : above(step.level, loop(dim_of(step, partial)), partial);
  const auto distance = [&](std::int64_t size) {
    const double octaves = std::abs(log2_of(static_cast<double>(size)) -
                                    log2_of(static_cast<double>(std::min(wanted, whole))));
    const bool as_many = ceil_div(whole, size) == ceil_div(whole, std::min(wanted, whole));
    return octaves + (as_many ? 0 : 1);
  };
  return static_cast<int>(
      std::min_element(first, end, [&](auto a, auto b) { return distance(a) < distance(b); }) -
      first);
}

}  // namespace gym::prior
