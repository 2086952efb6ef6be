// How the levels of a tiling cut every loop (E4.1, E4.6). Loops are cut independently of each
// other, so a level has few kinds of boxes: a loop has at most twice as many extents at a level as
// at the one above.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cut.hpp"
#include "tiling.hpp"

namespace gym::exact {

// Boxes of a level that have one extent in a loop.
struct Variant {
  std::int64_t extent, boxes;
  Cut cut;
  // Which its chunks are among the variants of the next level: a whole tile, the last chunk.
  std::array<std::uint8_t, 2> chunk;
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
  int count_;
  std::array<Variant, 1 << (kMaxLevels - 1)> each_;
};

// What a loop is to words: it is the tensor's own, or repeats it step by step or unit by unit.
enum class Share : std::uint8_t { own, copies, copies_for_units };

class Partition {
 public:
  explicit Partition(const LoopNest& nest);

  void cut(const Tiling& tiling);

  const Variants& of(int level, LoopId id) const { return cuts_[id]->variants[level]; }
  const Sums& sums(int level, LoopId id) const { return cuts_[id]->sums[level]; }
  const Factor& factor(int level, LoopId id, Share share) const {
    return cuts_[id]->factor[level][static_cast<std::size_t>(share)];
  }

 private:
  // All that cuts of a loop depend on.
  struct Tiles {
    int levels = 0;
    std::array<std::int64_t, kMaxLevels> size, units;

    Tiles() = default;
    Tiles(const Tiling& tiling, LoopId id);
    bool operator==(const Tiles& other) const;
    bool whole() const;
    std::size_t slot() const;
  };
  // By level.
  struct LoopCuts {
    std::array<Variants, kMaxLevels> variants;
    std::array<Sums, kMaxLevels> sums;
    std::array<std::array<Factor, 3>, kMaxLevels> factor;  // by share

    void cut(std::int64_t extent, const Tiles& tiles);
  };
  // Searches come back to the same tiles, so that some cuts of a loop are kept.
  static constexpr int kSlotBits = 5;
  struct Kept {
    std::array<Tiles, 1 << kSlotBits> tiles;
    std::unique_ptr<LoopCuts[]> cuts = std::make_unique_for_overwrite<LoopCuts[]>(1 << kSlotBits);
  };

  const LoopNest& nest_;
  std::vector<LoopId> loops_;           // of more than one index: the others are always whole
  std::vector<Kept> kept_;              // of these
  std::array<LoopCuts, kLoops> whole_;  // at all levels
  std::array<const LoopCuts*, kLoops> cuts_;
};

}  // namespace gym::exact
