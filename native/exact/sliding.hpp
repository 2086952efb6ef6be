// Rows of a sliding axis that all boxes of a level move as one of its loops advances (E4.3, E4.6).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "overlap.hpp"
#include "partition.hpp"

namespace gym::exact {

// A loop's place in a level as one mover advances: outside it (or uncut), itself, or inside it.
enum class Role : std::uint8_t { outside, mover, inside };
inline constexpr std::size_t kRoles = 3;

// Words after all moves, and of these, words that were there before.
struct Total {
  std::int64_t needed, kept;
};

struct SlidingAxis {
  LoopId output, window;
  std::int64_t stride;
};

class SlidingRows {
 public:
  struct Rows {
    Total array, units;  // of array tiles, and of the units' own
  };

  explicit SlidingRows(const SlidingAxis& axis) : axis_(axis) {}

  void open(const TiledLevel& level, const Variants& outputs, const Variants& windows);

  // By the roles of the axis' two loops, which is all a mover means to it.
  const Rows& rows(Role output, Role window);

 private:
  // Weighted moves of one loop, from one array tile to the next.
  struct Move {
    std::int64_t weight;
    const Cut* cut;
    int from, to;  // 0: before the last position, 1: the last
    std::int64_t shift;
  };
  using Moves = std::vector<Move>;

  Rows sum_uncut_window(Role output) const;
  Rows sum(Role output, Role window);
  static void list_moves(const Variants& variants, Role role, Moves& moves);
  Total slide(const Move& output, const Move& window, bool units) const;

  SlidingAxis axis_;
  LoopId spatial_ = kLoops;
  bool uncut_window_ = true;
  const Variants* outputs_ = nullptr;
  const Variants* windows_ = nullptr;
  std::array<Rows, kRoles * kRoles> rows_;
  std::uint32_t known_ = 0;
  Moves output_moves_, window_moves_;
};

}  // namespace gym::exact
