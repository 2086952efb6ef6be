#include "tile.hpp"

namespace gym::exact {

namespace {

// Rows of a comb below row x.
std::int64_t below(SlidingTile comb, std::int64_t stride, std::int64_t x) {
  if (x <= 0) return 0;
  const std::int64_t whole = std::min(x / stride, comb.outputs);
  const std::int64_t part = whole < comb.outputs ? std::min(x - whole * stride, comb.taps) : 0;
  return whole * comb.taps + part;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Two combs of one period: teeth of the second fall on those of the first at two distances.
std::int64_t comb_overlap(SlidingTile first, SlidingTile second, std::int64_t stride,
                          std::int64_t shift) {
  const std::int64_t teeth = floor_div(shift, stride);
  const std::int64_t rest = shift - teeth * stride;
  const auto shared = [&](std::int64_t start) {
    return std::max<std::int64_t>(
        0, std::min(first.taps, start + second.taps) - std::max<std::int64_t>(start, 0));
  };
  const auto pairs = [&](std::int64_t distance) {
    return std::max<std::int64_t>(0, std::min(first.outputs, second.outputs + distance) -
                                         std::max<std::int64_t>(0, distance));
  };
  return pairs(teeth) * shared(rest) + pairs(teeth + 1) * shared(rest - stride);
}

}  // namespace

std::int64_t gapped_overlap(SlidingTile first, SlidingTile second, std::int64_t stride,
                            std::int64_t shift, std::int64_t low, std::int64_t high) {
  if (solid(second, stride)) return below(first, stride, high) - below(first, stride, low);
  if (solid(first, stride)) {
    return below(second, stride, high - shift) - below(second, stride, low - shift);
  }
  return comb_overlap(first, second, stride, shift);
}

}  // namespace gym::exact
