// The best samples of a search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gym::agents {

// The indices of the least values, ascending, at most `most` of them; of equal values the first,
// infinite ones never.
inline std::vector<std::size_t> least(const std::vector<double>& values, std::size_t most) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < std::numeric_limits<double>::infinity()) found.push_back(i);
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const auto is_same = [&](std::size_t a, std::size_t b) { return values[a] == values[b]; };
  found.erase(std::unique(found.begin(), found.end(), is_same), found.end());
  found.resize(std::min(found.size(), most));
  return found;
}

}  // namespace gym::agents
