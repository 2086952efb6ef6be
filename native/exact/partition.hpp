// How the levels of a tiling cut every loop (E4.1, E4.6). Loops are cut independently of each
// other, so a level has few kinds of boxes: a loop has at most twice as many extents at a level as
// at the one above.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cut.hpp"
#include "tiling.hpp"

namespace gym::exact {

struct Variant : BasicBoxes<Count> {
  // Which its chunks are among the variants of the next level: a whole tile, the last chunk.
  std::array<std::uint8_t, 2> chunk;
};

using Variants = std::span<const Variant>;

// What a loop is to words: it is the tensor's own, or repeats it step by step or unit by unit.
enum class Share : std::uint8_t { own, copies, copies_for_units };

class Partition {
 public:
  explicit Partition(const LoopNest& nest);

  void cut(const Tiling& tiling);

  Variants of(int level, LoopId id) const {
    return {cuts_[id]->first(level), cuts_[id]->level[level].variants};
  }
  const Sums& sums(int level, LoopId id) const { return cuts_[id]->level[level].sums; }
  const Factor& factor(int level, LoopId id, Share share) const {
    return cuts_[id]->level[level].factor[static_cast<std::size_t>(share)];
  }

 private:
  // All that cuts of a loop depend on.
  struct Tiles {
    int levels = 0;
    std::array<std::int64_t, kMaxLevels> size{}, units{};

    Tiles() = default;
    Tiles(const Tiling& tiling, LoopId id);
    bool operator==(const Tiles&) const = default;
    bool whole() const;
    std::size_t slot() const;
  };
  struct LoopCuts {
    struct Level {
      std::size_t variants;
      Sums sums;
      std::array<Factor, 3> factor;  // by share
    };
    std::array<Level, kMaxLevels> level;
    std::array<Variant, (1 << kMaxLevels) - 1> variant;  // at most 2^j of level j

    void cut(std::int64_t extent, const Tiles& tiles);
    const Variant* first(int j) const { return &variant[(std::size_t{1} << j) - 1]; }
    Variant* first(int j) { return &variant[(std::size_t{1} << j) - 1]; }
    // The index of the variant of this extent, which gets so many more boxes.
    std::uint8_t add(int j, std::int64_t extent, std::int64_t boxes);
    // The chunks of a level's boxes are the boxes of the next level.
    void pass_on(Variant& box, int next);
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
