// Words of a sliding axis: output p and tap r touch word p * stride + r * dilation (H2, H5).
#pragma once

#include <cstdint>

#include "../exact/tile.hpp"

namespace gym::hierarchy {

using exact::SlidingTile;

class SlidingAxis {
 public:
  SlidingAxis(std::int64_t stride, std::int64_t dilation);

  // Distinct words of a tile.
  std::int64_t words(SlidingTile tile) const;
  // Words that two tiles share, the second of which starts some outputs and taps later.
  std::int64_t overlap(SlidingTile first, SlidingTile second, std::int64_t outputs,
                       std::int64_t taps) const;

 private:
  std::int64_t stride_, dilation_;  // without their common divisor, which spreads words alone
};

}  // namespace gym::hierarchy
