#include "variants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "../core/integers.hpp"

namespace gym::prior {

namespace {

// What pays more often is there more often.
enum Kind : std::size_t { kTrade, kRecut = 3, kScale = 6, kReorder, kTurn, kKinds };

// By how much the number of pieces changes that a size makes.
constexpr std::array<int, 6> kMorePieces = {-2, -1, 0, 0, 1, 2};

std::size_t one_of(std::size_t count, Random& random) {
  return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(count)));
}

// By how much a size is scaled, up or down: by 2^-5 octaves at least and one at most, the length
// log-uniform.
double octaves(Random& random) {
  const double length = std::pow(2.0, -5 + 5 * random.uniform());
  return length * random.sign();
}

}  // namespace

Variants::Variants(MapSpace space, std::vector<std::int64_t> extents, std::int64_t pes)
    : space_(std::move(space)) {
  for (std::size_t d = 0; d < space_.dims.size(); ++d) {
    const Choice& outer = space_.levels[0].tiles[d];
    sizes_.push_back({outer, {}, extents[d]});
    sizes_.push_back({space_.levels[1].tiles[d], outer, extents[d]});
  }
  sizes_.push_back({space_.cluster, {}, pes});
  std::erase_if(sizes_, [](const Size& size) { return size.choice.column < 0; });
  std::sort(sizes_.begin(), sizes_.end(),
            [](const Size& a, const Size& b) { return a.choice.column < b.choice.column; });
}

void Variants::draw(const std::int64_t* best, std::size_t count, std::size_t variants,
                    Random& random, std::int32_t* to) const {
  if (sizes_.empty()) throw std::invalid_argument("variants need a size");
  const std::size_t width = space_.parameters.size();
  bool turns = true;
  for (const MapSpace::Level& level : space_.levels) {
    turns &= space_.parameters[level.parallel.column].choices > 1;
  }
  std::vector<std::size_t> ranks(2 * variants), kinds(variants);
  for (std::size_t& rank : ranks) rank = one_of(count, random);
  for (std::size_t& kind : kinds) kind = one_of(turns ? kKinds : kTurn, random);
  for (std::size_t i = 0; i < variants; ++i, to += width) {
    std::copy_n(best + std::min(ranks[i], ranks[variants + i]) * width, width, to);
    change(kinds[i], random, to);
  }
}

void Variants::change(std::size_t kind, Random& random, std::int32_t* point) const {
  if (kind == kTurn) return turn(random, point);
  if (kind == kReorder) return reorder(random, point);
  if (kind < kRecut) {
    double by = octaves(random);
    std::vector<std::size_t> order(sizes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.shuffle(order);
    for (std::size_t i = 0; i < std::min<std::size_t>(2, order.size()); ++i) {
      resize(sizes_[order[i]], by, point);
      by *= random.sign();
    }
    return;
  }
  const Size& size = sizes_[one_of(sizes_.size(), random)];
  if (kind == kScale) {
    resize(size, octaves(random), point);
  } else {
    recut(size, kMorePieces[one_of(kMorePieces.size(), random)], point);
  }
}

// Scales a size to the choice that is nearest, at least one away.
void Variants::resize(const Size& size, double octaves, std::int32_t* point) const {
  const Choice& choice = size.choice;
  std::int32_t& chosen = point[choice.column];
  const double scaled = std::nearbyint(choice.pick(point) * std::pow(2.0, octaves));
  const std::int32_t nearest = up_to(choice, static_cast<std::int64_t>(scaled));
  const std::int32_t moved =
      octaves > 0 ? std::max(nearest, chosen + 1) : std::min(nearest, chosen - 1);
  chosen = std::clamp(moved, 0, space_.parameters[choice.column].choices - 1);
}

void Variants::recut(const Size& size, int more, std::int32_t* point) const {
  const std::int64_t whole = size.outer.column < 0 ? size.whole : size.outer.pick(point);
  const std::int64_t now = std::min<std::int64_t>(size.choice.pick(point), whole);
  const std::int64_t pieces = std::clamp<std::int64_t>(ceil_div(whole, now) + more, 1, whole);
  point[size.choice.column] = up_to(size.choice, ceil_div(whole, pieces));
}

void Variants::reorder(Random& random, std::int32_t* point) const {
  const int column = space_.levels[one_of(2, random)].order_column;
  const std::size_t loops = space_.dims.size();
  const MapSpace::Order& before = permutations(loops)[point[column]];
  std::vector<std::int32_t> order(before.begin(), before.begin() + loops);
  const std::size_t to = one_of(loops, random);
  const std::size_t from = one_of(loops, random);
  const std::int32_t moved = order[from];
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, moved);
  point[column] = rank_of(order);
}

void Variants::turn(Random& random, std::int32_t* point) const {
  const int column = space_.levels[one_of(2, random)].parallel.column;
  const std::int64_t others = space_.parameters[column].choices;
  point[column] =
      static_cast<std::int32_t>((point[column] + 1 + random.below(others - 1)) % others);
}

std::int32_t Variants::up_to(const Choice& choice, std::int64_t size) const {
  const std::vector<std::int32_t>& values = choice.values;
  const std::int64_t count =
      values.empty() ? std::min<std::int64_t>(size, space_.parameters[choice.column].choices)
                     : std::upper_bound(values.begin(), values.end(), size) - values.begin();
  return static_cast<std::int32_t>(std::max<std::int64_t>(count - 1, 0));
}

std::vector<std::int64_t> varied(const std::int32_t* rows, std::size_t count, std::size_t width,
                                 const std::vector<std::vector<std::size_t>>& parts,
                                 const double* logarithms, double common, std::size_t places) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // A number for each part of each row, equal where parts are.
  std::vector<std::vector<std::size_t>> numbers;
  for (const std::vector<std::size_t>& columns : parts) {
    std::map<std::vector<std::int32_t>, std::size_t> known;
    numbers.emplace_back();
    for (std::size_t row = 0; row < count; ++row) {
      std::vector<std::int32_t> part;
      for (const std::size_t column : columns) part.push_back(rows[row * width + column]);
      numbers.back().push_back(known.emplace(std::move(part), known.size()).first->second);
    }
  }
  std::vector<double> left(logarithms, logarithms + count);
  if (count > 0) left[0] = kInfinity;
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t place = 0; place < std::min(places, count); ++place) {
    const auto chosen = std::max_element(order.begin() + place, order.end(),
                                         [&](auto a, auto b) { return left[a] < left[b]; });
    std::rotate(order.begin() + place, chosen, chosen + 1);
    const auto ahead = static_cast<std::size_t>(order[place]);
    for (std::size_t i = place + 1; i < count; ++i) {
      int shared = 0;
      for (const auto& each : numbers) shared += each[order[i]] == each[ahead] ? 1 : 0;
      left[order[i]] -= common * shared;
    }
  }
  std::stable_sort(order.begin() + std::min(places, count), order.end(),
                   [&](auto a, auto b) { return left[a] > left[b]; });
  return order;
}

}  // namespace gym::prior
