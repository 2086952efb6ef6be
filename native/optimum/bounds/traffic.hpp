// The least words a level moves, by the loop that moves innermost (docs/optimum.md, 4).
#pragma once

#include <array>
#include <vector>

#include "../problem.hpp"

namespace gym::optimum {

// Words that a level fetches from above, or its units take in, and that it sends back.
struct Words {
  double input, filter, leaving;

  double fetched() const { return input + filter; }
};

// Words that a level fetches where sweeps of the loop that moves innermost begin, that it sends
// back where they end, and a step before that.
struct EndWords {
  double fetched, leaving, before;
};

// The traffic of one level over a range of tiles.
class LevelTraffic {
 public:
  using Level = LevelCounts LoopCounts::*;

  // As the level's array sees it, or its units, to which the loop `parallel` is dealt.
  LevelTraffic(const Problem& problem, const std::vector<LoopCounts>& counts, Level level,
               int parallel = kNone);

  // The least if loop `x` moves innermost; kNone if no loop takes several steps.
  Words least(int x) const;
  EndWords at_ends(int x) const;
  // Whether the loop takes several steps in every piece.
  bool all_moves(int x) const { return of(x).all_moves; }

 private:
  // Words, or rows along an axis: if they are moved in every step, and as seldom as can be.
  struct Moved {
    double often = 1, seldom = 1;

    void operator*=(const Moved& factor) {
      often *= factor.often;
      seldom *= factor.seldom;
    }
  };
  // Rows along an axis on which a window slides. If its loop moves innermost: those in the pieces
  // where it moves if every sweep begins with nothing, those that it may begin with, a sweep a
  // piece, and those in the other pieces.
  struct Rows {
    int loop = kNone;
    bool moves = false;
    double halo = 0;
    Moved repeats, all;
    double swept = 0, kept = 0, rest = 0;
    double begun = 0;  // as swept, of the first steps
    // Where windows may be cut: those that later steps of sweeps of the loop bring, or of its
    // window.
    int window = kNone;
    double later = 0, later_taps = 0;
  };
  struct Input {
    double words;   // along its own axes
    Moved repeats;  // for the loop over K, and whether it can take several steps
    bool repeated = false;
    std::array<Rows, 2> rows;
  };

  const LevelCounts& of(std::size_t loop) const { return counts_[loop].*level_; }
  Moved repeats(std::size_t loop) const;
  Rows rows(std::size_t loop) const;
  Moved filter() const;
  Moved output() const;
  Input input() const;
  double mixed(const Moved& words, int x) const;
  double least(const Input& input, int x) const;
  double least_of_cut(const Input& input, int x) const;
  double at_begins(int x) const;
  static double warm(const Input& input, const Rows& other, double often, bool beside);

  const Problem& problem_;
  const std::vector<LoopCounts>& counts_;
  Level level_;
  int parallel_;
  bool cuts_windows_ = false;
  Input input_;
  Moved filter_, output_;
};

}  // namespace gym::optimum
