#include "split.hpp"

#include <algorithm>

#include "../integers.hpp"

namespace gym::optimum {

namespace {

constexpr std::int32_t kParts = 8;

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

// ... or, if they differ in some number, of about as many of these numbers, which do not rise with
// the choice.
template <typename Key>
std::vector<Choices> by_key(Choices range, const Key& key) {
  if (key(range.least) == key(range.most)) return evenly(range);
  std::vector<std::int32_t> first;  // choice of every number
  for (std::int32_t choice = range.least; choice <= range.most; ++choice) {
    if (first.empty() || key(choice) != key(choice - 1)) first.push_back(choice);
  }
  first.push_back(range.most + 1);
  std::vector<Choices> made;
  for (const Choices& part : evenly({0, static_cast<std::int32_t>(first.size()) - 2})) {
    made.push_back({first[part.least], first[part.most + 1] - 1});
  }
  return made;
}

}  // namespace

std::vector<Tiles> split(const Loop& loop, const Tiles& tiles) {
  std::vector<Tiles> made;
  if (!tiles.outer.single()) {
    const auto chunks = [&](std::int32_t choice) {
      return ceil_div(loop.extent, loop.outer[choice]);
    };
    for (const Choices& part : by_key(tiles.outer, chunks)) {
      made.push_back(without_doubles(loop, {part, tiles.inner}));
    }
  } else if (!tiles.inner.single()) {
    const Index tile = loop.outer[tiles.outer.least];
    const auto chunks = [&](std::int32_t choice) { return ceil_div(tile, loop.inner[choice]); };
    for (const Choices& part : by_key(tiles.inner, chunks)) made.push_back({tiles.outer, part});
  }
  return made;
}

std::vector<Choices> split(Choices cluster) {
  return cluster.single() ? std::vector<Choices>{} : evenly(cluster);
}

Tiles without_doubles(const Loop& loop, Tiles tiles) {
  const auto first =
      std::lower_bound(loop.inner.begin(), loop.inner.end(), loop.outer[tiles.outer.most]);
  const auto last = static_cast<std::int32_t>(first - loop.inner.begin());
  tiles.inner.most = std::min(tiles.inner.most, last);
  return tiles;
}

}  // namespace gym::optimum
