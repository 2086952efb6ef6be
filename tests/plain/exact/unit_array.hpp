// One level's units at work on one box: the words that move between two steps (E3.2, E4.2-E4.3).
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

#include "cut.hpp"
#include "overlap.hpp"
#include "tiling.hpp"

namespace gym::exact {

using Extents = std::array<std::int64_t, kLoops>;

// Bit d: loop d stands at its last position. Sizes depend on nothing else.
using State = std::uint32_t;

constexpr State bit_of(LoopId id) { return State{1} << id; }
constexpr std::uint32_t at(State state, LoopId id) { return state >> id & 1; }

inline constexpr State kAllLoops = (State{1} << kLoops) - 1;

template <std::size_t n>
constexpr State set_of(const std::array<LoopId, n>& loops) {
  State set = 0;
  for (const LoopId id : loops) set |= bit_of(id);
  return set;
}

// Words of an array tile.
struct TileWords {
  std::int64_t input, filter, output;

  std::int64_t fetched() const { return input + filter; }
};

class UnitArray {
 public:
  // Gets ready for the boxes of one unit above. Each loop has one of two extents in them, a whole
  // tile (`extent[0]`) or a tail (`extent[1]`): what follows from an extent is computed once.
  // `loops`: those of more than one index, the only ones with anything to compute.
  void prepare(const TiledLevel& level, const LoopNest& nest, const std::vector<LoopId>& loops,
               const std::array<Extents, 2>& extent);

  // Bounds over all boxes prepared for: words of the largest tile, MACs of the smallest unit's.
  const TileWords& largest() const { return largest_; }
  std::int64_t fewest_macs() const { return fewest_macs_; }
  // MACs of the busiest unit of every step, summed over the steps of a box.
  std::int64_t busiest_macs(State tails) const {
    std::int64_t macs = 1;
    for (int d = 0; d < kLoops; ++d) macs *= busiest_[tails >> d & 1][d];
    return macs;
  }

  // Takes up the box in which the loops in `tails` have their tail's extent.
  void set_up(State tails);

  const Cut& cut(LoopId id) const { return *cut_[id]; }
  LoopId spatial() const { return level_->spatial; }
  // Loops of more than one step, outermost first.
  int movers() const { return movers_; }
  LoopId mover(int m) const { return moving_[m]; }
  // The mover and the loops inside it.
  State changed(int m) const { return changed_[m]; }
  // All loops at their first position.
  State first() const { return kAllLoops & ~now_.moving; }
  // Loops whose last chunk is smaller than a tile.
  State tailed() const { return now_.tailed; }
  // Whether the array's last tile along a loop is smaller than the others.
  bool ragged(LoopId id) const { return at(now_.ragged, id) != 0; }
  // The one of several states with equal sizes that stands for all.
  State canonical(State state) const { return state & ~(now_.moving & ~now_.ragged); }

  const TileWords& words(State state) {
    const State key = canonical(state);
    if (!known_words_[key]) {
      known_words_[key] = true;
      words_[key] = count_words(key);
    }
    return words_[key];
  }

  // Words missing in state `to` when loop m moves there from `from`.
  std::int64_t fetched(int m, State from, State to);
  // The same for the innermost moving loop, remembered.
  std::int64_t fetched_inside(State from, State to) {
    const std::size_t key = 2 * from + (from != to ? 1 : 0);
    if (!known_moves_[key]) {
      known_moves_[key] = true;
      moves_[key] = fetched(movers_ - 1, from, to);
    }
    return moves_[key];
  }

  // Output words that leave when loop m moves on from `before`.
  std::int64_t leaving(int m, State before) {
    return (changed_[m] & set_of(kOutputLoops)) != 0 ? words(before).output : 0;
  }

  // MACs of a unit's tile whose loops in `tails` stand at their last chunk.
  std::int64_t unit_macs(State tails) const;

 private:
  // Properties of the loops of a box.
  struct LoopSets {
    State moving = 0;  // more than one step
    State ragged = 0;  // the array's last tile is smaller
    State tailed = 0;  // the last chunk is smaller
  };
  struct Axis {
    LoopId output, window;
    std::int64_t stride = 1;
  };

  TileWords count_words(State state) const;
  SlidingTile array_tile(const Axis& axis, State state) const;
  std::int64_t kept_rows(const Axis& axis, int m, State from, State to) const;

  const TiledLevel* level_ = nullptr;
  std::array<Axis, 2> axis_;
  std::array<std::array<Cut, kLoops>, 2> variants_;
  std::array<LoopSets, 2> sets_;
  std::array<Extents, 2> busiest_{Extents{1, 1, 1, 1, 1, 1, 1, 1}, Extents{1, 1, 1, 1, 1, 1, 1, 1}};
  TileWords largest_{};
  std::int64_t fewest_macs_ = 1;

  std::array<const Cut*, kLoops> cut_{};
  LoopSets now_;
  int movers_ = 0;
  std::array<LoopId, kLoops> moving_{};
  std::array<State, kLoops> changed_{};

  std::bitset<256> known_words_;
  std::array<TileWords, 256> words_;
  std::bitset<512> known_moves_;
  std::array<std::int64_t, 512> moves_;
};

}  // namespace gym::exact
