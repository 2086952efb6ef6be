// What one step of a level moves and computes: fetches, outputs, MACs (S6.2-S6.6).
#pragma once

#include <vector>

#include "spread.hpp"

namespace gym::maestro {

// One case's words and MACs, fetches apart.
struct Volume {
  std::int64_t egress;     // output words sent up by the whole array
  std::int64_t macs;       // of the whole array
  std::int64_t unit_macs;  // of the busiest unit, the critical path
};

// The cases of one level and the volumes of each. A level below the top is gone through for several
// choices of extents: each dimension has the whole tile of the level above or its remainder.
class Volumes {
 public:
  // Tabulates what all choices share. `above` is null for the top level.
  void prepare(const LayerTable& table, const Level& level, const Level* above);

  // Starts the cases for the extents `remainders` chooses, by Level::remainder_bit of the level
  // above.
  Status begin(std::uint32_t remainders, std::int64_t& cases);

  const Case& now() const { return odometer_.now(); }
  void advance() { odometer_.advance(); }

  // Words of input and filter fetched by the whole array; false if the binary exits.
  bool ingress(std::int64_t& input, std::int64_t& filter) const {
    const Fetch& fetch = fetches_[now().moving];
    const Spread& units = spread(now().edges);
    input = wrap_mul(fetch.words[kInput], units.fetched[kInput][fetch.fresh[kInput]]);
    filter = wrap_mul(fetch.words[kFilter], units.fetched[kFilter][fetch.fresh[kFilter]]);
    return !fetch.exits;
  }

  // All other volumes depend on the loops at an edge only.
  Volume volume(Edges edges) const;
  // How the units share the work.
  const Spread& spread(Edges edges) const { return spreads_[edges & kSpatialEdges]; }

 private:
  // What a directive comes to at one of its two extents.
  struct Loop {
    Wheel wheel;
    LoopStates states;
    bool restarts = false;                    // Init is not all there is
    std::array<std::int64_t, 2> words{1, 1};  // temporal factor of a fetch of input and filter, ...
    std::array<std::int64_t, 2> fresh{1, 1};  // ... of one for which only this loop moved
  };
  // Temporal factors of the output volume and of the MACs.
  struct Factors {
    std::int64_t outputs = 1;
    std::int64_t macs = 1;

    Factors times(const Factors& other) const {
      return {wrap_mul(outputs, other.outputs), wrap_mul(macs, other.macs)};
    }
  };
  struct Directive {
    std::array<Loop, 2> loop;
    std::uint32_t remainder = 0;     // chooses the second loop, if the extents differ
    std::array<bool, 2> fetched{};   // whether input and filter have the dimension
    std::uint8_t spatial_after = 0;  // spatial directives inside this one, by bit, ...
    std::uint8_t spatial_from = 0;   // ... this one included
    bool exits = false;              // if it moves: the static table calls it unrolled
    Edges edge = 0;                  // its dimension's bit
    Factors inside, at_edge;         // of its dimension
  };
  // Temporal words fetched when a loop has moved, and the spatial loops that bring a fresh part.
  struct Fetch {
    std::array<std::int64_t, 2> words;
    std::array<std::uint8_t, 2> fresh;
    bool exits;
  };
  // Temporal words of the directives gone through so far: all, and those fetched when the innermost
  // loop that restarts moves, which is the only one to bring less than all.
  struct Reach {
    std::array<std::int64_t, 2> words{1, 1};
    std::array<std::int64_t, 2> moved{1, 1};
    std::array<int, 2> restarting{-1, -1};

    void include(int i, const Directive& directive, const Loop& loop);
  };

  void describe(int i, const Level* above);
  void factor(int i, Directive& directive) const;
  void tabulate(int i, std::int32_t extent, Directive& directive, Loop& loop) const;
  void count_words(int i, const Directive& directive, Loop& loop) const;
  const Loop& loop(int i, std::uint32_t remainders) const {
    const Directive& directive = directives_[i];
    return directive.loop[(remainders & directive.remainder) != 0 ? 1 : 0];
  }
  Fetch fetch(int i, const Reach& reach) const;
  void spread_units(std::uint32_t remainders, Edges extents);

  const LayerTable* table_ = nullptr;
  const Level* level_ = nullptr;
  std::vector<Directive> directives_;
  // Directives with one state and one extent are accounted for once.
  Edges fixed_edges_ = 0;
  Factors fixed_factors_;
  Reach fixed_reach_;
  std::vector<int> open_;     // the others
  std::vector<int> turning_;  // those with several states at the chosen extents
  Odometer odometer_;
  std::vector<Fetch> fetches_;                     // by Case::moving
  std::array<Spread, kSpatialEdges + 1> spreads_;  // by the spatial edges
  std::uint32_t spread_ready_ = 0;
};

}  // namespace gym::maestro
