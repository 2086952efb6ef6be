// How the levels of a tiling cut every loop (E4.1, E4.6). Loops are cut independently of each
// other, so a level has few kinds of boxes: a loop has at most twice as many extents at a level as
// at the one above.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cut.hpp"
#include "tiling.hpp"

namespace gym::exact {

// Boxes of a level that have one extent in a loop.
struct Variant {
  std::int64_t extent = 1;
  std::int64_t boxes = 1;
  Cut cut = whole(1);
  // Which its chunks are among the variants of the next level: a whole tile, the last chunk.
  std::array<std::uint8_t, 2> chunk{};
};

class Variants {
 public:
  const Variant& operator[](int index) const { return each_[index]; }
  const Variant* begin() const { return each_.data(); }
  const Variant* end() const { return each_.data() + count_; }
  Variant* begin() { return each_.data(); }
  Variant* end() { return each_.data() + count_; }

  void clear() { count_ = 0; }
  // The index of the variant of this extent, which gets so many more boxes.
  std::uint8_t add(std::int64_t extent, std::int64_t boxes);

 private:
  int count_ = 0;
  std::array<Variant, 1 << (kMaxLevels - 1)> each_;
};

class Partition {
 public:
  explicit Partition(const LoopNest& nest);

  void cut(const Tiling& tiling);

  const Variants& of(int level, LoopId id) const { return table_[level][id]; }
  const Sums& sums(int level, LoopId id) const { return sums_[level][id]; }

 private:
  void cut_loop(const Tiling& tiling, LoopId id);
  void leave_whole(LoopId id);

  const LoopNest& nest_;
  std::vector<LoopId> loops_;       // of more than one index: the others never change
  std::array<bool, kLoops> whole_;  // at all levels, as it is in the tables
  std::array<std::array<Variants, kLoops>, kMaxLevels> table_;
  std::array<std::array<Sums, kLoops>, kMaxLevels> sums_;
};

}  // namespace gym::exact
