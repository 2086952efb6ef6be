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

  Case now() const { return odometer_.now(); }
  void advance() { odometer_.advance(); }

  // Words of input and filter fetched by the whole array; false if the binary exits.
  bool ingress(const Case& now, std::int64_t& input, std::int64_t& filter) const {
    const Fetch& fetch = fetches_[now.moving];
    const Spread& units = spread(now.edges);
    input = wrap_mul(fetch.words[kInput], units.fetched[kInput][fetch.fresh[kInput]]);
    filter = wrap_mul(fetch.words[kFilter], units.fetched[kFilter][fetch.fresh[kFilter]]);
    return !fetch.exits;
  }

  // All other volumes depend on the loops at an edge only.
  Volume volume(Edges edges) const;
  // How the units share the work.
  const Spread& spread(Edges edges) const { return spreads_[edges & kSpatialEdges]; }

 private:
  // Temporal words of input and filter.
  using Words = std::array<std::int64_t, 2>;

  // What a directive comes to at one of its two extents.
  struct Loop {
    Wheel wheel;
    LoopStates states;
    Words words{1, 1};  // its factor of a fetch, ...
    Words moved{1, 1};  // ... and that of Reach::moved
    Words restarts{};   // all bits: the tensor has the dimension, and Init is not all there is
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
    bool leads = false;              // of its dimension's directives: what follows is theirs
    Edges edge = 0;                  // its bit
    Edges ended = 0;                 // those of its spatial directives
    std::array<Factors, 2> factors;  // inside and at an edge
    // Temporal factor of a fetch, inside and at an edge, and if this directive moved.
    std::int64_t words = 1;
    std::int64_t edge_words = 1;
    std::int64_t moved_words = 1;

    const Loop& at(std::uint32_t remainders) const {
      return loop[(remainders & remainder) != 0 ? 1 : 0];
    }
    bool settled() const {
      return remainder == 0 && loop[0].states.unrolled && loop[0].wheel.count == 1;
    }
  };
  // The dimension of a spatial directive.
  struct SpatialDim {
    std::array<LoopStates, 2> states;
    std::uint32_t remainder = 0;
  };
  // Words fetched when a loop has moved, and which spatial loops bring a fresh part.
  struct Fetch {
    Words words;
    std::array<std::uint8_t, 2> fresh;
    bool exits;
  };
  // Of the directives gone through so far: words of a whole fetch, and of one when the innermost
  // loop that restarts moves, which is the only one to bring less.
  struct Reach {
    Words words{1, 1};
    Words moved{1, 1};
    std::array<int, 2> restarting{-1, -1};

    void include(int i, const Loop& loop) {
      for (const TensorId id : {kInput, kFilter}) {
        const std::int64_t restarts = loop.restarts[id];
        moved[id] = wrap_mul((words[id] & restarts) | (moved[id] & ~restarts), loop.moved[id]);
        words[id] = wrap_mul(words[id], loop.words[id]);
        restarting[id] = std::max(restarting[id], i | ~static_cast<int>(restarts));
      }
    }
  };

  void describe(int i, const Level* above, Directive& directive) const;
  void factor(const LevelDirective& given, Directive& directive) const;
  void tabulate(const LevelDirective& given, Count extent, const Directive& directive,
                Loop& loop) const;
  static Fetch fetch(int i, const Directive& directive, const Reach& reach);
  void require_spreads(std::uint32_t remainders, Edges extents);

  const LayerTable* table_ = nullptr;
  const Level* level_ = nullptr;
  // Directives with one state and one extent are settled: accounted for once.
  Edges settled_edges_ = 0;
  Factors settled_factors_;
  Reach settled_reach_;
  std::vector<Directive> open_;  // the others come first
  int open_count_ = 0;
  std::array<SpatialDim, kMaxSpatial> spatial_;
  Odometer odometer_;
  std::vector<Fetch> fetches_;                     // by Case::moving
  std::array<Spread, kSpatialEdges + 1> spreads_;  // by the spatial edges
  std::uint32_t spread_ready_ = 0;                 // by the spatial extents
};

}  // namespace gym::maestro
