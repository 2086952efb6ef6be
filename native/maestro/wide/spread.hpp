// How the units of a level share its work, in several mappings: see ../spread.hpp.
#pragma once

#include "levels.hpp"

namespace gym::maestro::wide {
namespace {

// Words of input and filter that all units fetch: at first, after a loop moved, and if what the
// dealt loop brings is fresh in part.
struct Fetches {
  std::array<Wide, 2> resident, whole, fresh;
};

struct Spread {
  Fetches fetched;
  Wide outputs, macs;
  Wide unit_macs;  // of the busiest unit
  Wide busy_units;
  Wide edge_jobs, whole_jobs;  // units that have the remainder of the dealt loop, and its tile
};

class Spreader {
 public:
  // At the end of the dealt loop, or before, where it may be at an edge too.
  GYM_INLINE Spreader(const Level& level, const States& states, bool ended)
      : dealt_(level.dealt),
        ended_(ended),
        at_edge_(ended ? flag(true) : states.partial),
        alone_(level.edge_units <= 1),
        one_(number<Wide>(1)),
        busy_(select(at_edge_, level.edge_units, level.units)),
        ragged_(select(at_edge_ & states.ragged, one_, Wide{})) {}

  GYM_INLINE Spread spread() const {
    Spread spread;
    for (const TensorId id : {kInput, kFilter}) fetch(id, spread.fetched);
    const WideFlag in_output = dealt_.in[kOutput] > 0;
    const Tile tile = choose(in_output, dealt_.output, dealt_.input);
    spread.outputs = select(in_output, outputs(), one_);
    const Wide lone = lone_volume(tile);
    const Wide last = ended_ ? tile.fresh_edge : tile.edge;
    const Wide several = (busy_ - ragged_) * tile.full + ragged_ * last;
    spread.macs = select(alone_at_edge(), lone, several);
    // The outputs say whether the first unit's tile is a remainder.
    const WideFlag remains = alone_at_edge() & (in_output | flag(ended_));
    spread.unit_macs = select(remains, lone, tile.full);
    spread.busy_units = busy_;
    const WideFlag lone_remainder = alone_at_edge() | (ragged_ > 0);
    spread.edge_jobs = select(lone_remainder, one_, Wide{});
    spread.whole_jobs = busy_ - spread.edge_jobs;
    return spread;
  }

 private:
  GYM_INLINE WideFlag alone_at_edge() const { return at_edge_ & alone_; }

  // S6.2, S6.3
  GYM_INLINE void fetch(TensorId id, Fetches& fetches) const {
    const Tile& tile = dealt_.input;
    const WideFlag has = dealt_.in[id] > 0;
    const Wide several = (busy_ - ragged_) * tile.full + ragged_ * tile.edge;
    const Wide fresh = tile.full + (busy_ - ragged_ - 1) * tile.fresh + ragged_ * tile.fresh_edge;
    const Wide lone = select(ragged_ > 0, tile.edge, tile.full);
    fetches.resident[id] = select(has, select(alone_at_edge(), tile.edge, several), one_);
    fetches.whole[id] = select(has, select(alone_at_edge(), lone, several), one_);
    fetches.fresh[id] = select(has, select(alone_at_edge(), lone, fresh), one_);
  }

  // S6.5: of a unit that works alone at an edge. Quirk Q10: at the end it is the input's extent.
  GYM_INLINE Wide lone_volume(const Tile& tile) const {
    return ended_ ? dealt_.input.edge : select(ragged_ > 0, tile.edge, tile.full);
  }

  GYM_INLINE Wide outputs() const {
    const Tile& tile = dealt_.output;
    const Wide next = select(tile.fresh != Wide{}, tile.fresh, one_);
    const Wide several = tile.full + (busy_ - ragged_ - 1) * next + ragged_ * tile.fresh_edge;
    return select(alone_at_edge(), lone_volume(tile), several);
  }

  const Dealt& dealt_;
  const bool ended_;
  const WideFlag at_edge_, alone_;
  const Wide one_, busy_;
  const Wide ragged_;  // 1 if the last unit's tile is a remainder
};

}  // namespace
}  // namespace gym::maestro::wide
