#include "sliding.hpp"

#include <algorithm>
#include <numeric>

#include "../core/integers.hpp"

namespace gym::hierarchy {

SlidingAxis::SlidingAxis(std::int64_t stride, std::int64_t dilation)
    : stride_(stride / std::gcd(stride, dilation)),
      dilation_(dilation / std::gcd(stride, dilation)) {}

// Two pairs of output and tap touch one word if they differ by a multiple of (dilation, -stride):
// each word but the first of its kind is one pair with such a neighbour.
std::int64_t SlidingAxis::words(SlidingTile tile) const {
  return tile.outputs * tile.taps - std::max<std::int64_t>(0, tile.outputs - dilation_) *
                                        std::max<std::int64_t>(0, tile.taps - stride_);
}

// With dilation, outputs of one residue form an axis without: their words are `stride` apart in
// units of the dilation, and those of different residues never meet.
std::int64_t SlidingAxis::overlap(SlidingTile first, SlidingTile second, std::int64_t outputs,
                                  std::int64_t taps) const {
  if (dilation_ == 1) {
    return exact::overlap(first, second, stride_, outputs * stride_ + taps);
  }
  std::int64_t shared = 0;
  for (std::int64_t residue = 0; residue < std::min(dilation_, first.outputs); ++residue) {
    // Among the second tile's own outputs.
    std::int64_t other = (residue - outputs) % dilation_;
    if (other < 0) other += dilation_;
    if (other >= second.outputs) continue;
    const std::int64_t later = (outputs + other - residue) / dilation_;
    shared += exact::overlap({ceil_div(first.outputs - residue, dilation_), first.taps},
                             {ceil_div(second.outputs - other, dilation_), second.taps}, stride_,
                             later * stride_ + taps);
  }
  return shared;
}

}  // namespace gym::hierarchy
