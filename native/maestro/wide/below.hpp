// The level below the top, of several mappings, for every choice of its extents. PEs never wait for
// words but before the first step, so that sums over all cases are products over loops, as the MACs
// of each case are (S6.5, S7.3).
#pragma once

#include "spread.hpp"

namespace gym::maestro::wide {
namespace {

// What a loop contributes to the sums over all cases: cycles of the busiest unit, the fewest of
// them, steps, and steps times units at work.
struct Part {
  Wide cycles, fewest, steps, busy;
};

// `units` at work before the end and there. Where strides leave rows over, there are no MACs at an
// edge: the binary skips such steps.
GYM_INLINE Part part_of(const States& states, const std::array<Wide, 2>& macs,
                        const std::array<Wide, 2>& units) {
  const Wide inside = 1 + states.steady;
  const Wide ends = select(macs[1] > 0, states.edge, Wide{});
  Part part;
  part.steps = inside + ends;
  part.cycles = inside * macs[0] + ends * macs[1];
  part.fewest = select(ends > 0, least(macs[0], macs[1]), macs[0]);
  part.busy = inside * units[0] + ends * units[1];
  return part;
}

class Below {
 public:
  GYM_INLINE Below(const Problem& problem, const Level& top, const Level& level)
      : problem_(problem), level_(level), right_(is_regular(problem, level)) {
    const Wide one = number<Wide>(1);
    std::array<Wide, 2> extent{};
    for (int d = 0; d < problem.loops; ++d) {
      extent[0] = select(level.loop[d].spatial, top.loop[d].input.full, extent[0]);
      extent[1] = select(level.loop[d].spatial, top.loop[d].input.edge, extent[1]);
    }
    const std::array<Part, 2> dealt = {deal(extent[0]), deal(extent[1])};
    std::array<Wide, kTensors> words = most_dealt_;
    Wide fewest = one;
    for (int d = 0; d < problem.loops; ++d) {
      const LevelLoop& loop = level.loop[d];
      const Tile& above = top.loop[d].input;
      for (std::size_t v = 0; v < 2; ++v) {
        const Part temporal = repeat(d, v == 0 ? above.full : above.edge);
        part_[d][v] = choose(loop.spatial, dealt[v], temporal);
      }
      fewest *= least(part_[d][0].fewest, part_[d][1].fewest);
      // The binary dies if a loop moves whose whole tile leaves it nowhere to go.
      right_ &= (loop.input.fresh > 0) | (above.edge <= loop.size);
      const Wide along = select(loop.spatial, one, most(loop.input.full, loop.input.edge));
      for (const TensorId id : {kInput, kFilter, kOutput}) {
        if (problem.loop[d].in[id]) words[id] *= along;
      }
    }
    const Wide bw = number<Wide>(problem.hardware.noc_bw);
    right_ &= (words[kInput] + words[kFilter] <= bw) & (words[kOutput] <= bw) & (fewest > 0) &
              (fewest >= number<Wide>(problem.hardware.noc_latency));
  }

  // Of a loop of the whole tile of the level above (0) or of its remainder (1).
  GYM_INLINE const Part& part(int d, std::size_t variant) const { return part_[d][variant]; }
  GYM_INLINE WideFlag right() const { return right_; }

  // S7.4: bytes of an L1, double buffered.
  GYM_INLINE Wide l1_bytes() const {
    Wide bytes{};
    for (const TensorId id : {kInput, kOutput, kFilter}) {
      Wide words = number<Wide>(1);
      for (int d = 0; d < problem_.loops; ++d) {
        if (problem_.loop[d].in[id]) words *= level_.loop[d].size;
      }
      bytes += 2 * words;
    }
    return bytes;
  }

 private:
  // Of a loop that is gone through in time.
  GYM_INLINE Part repeat(int d, Wide extent) const {
    const LevelLoop& loop = level_.loop[d];
    const Tile& tile = problem_.loop[d].in[kOutput] ? loop.output : loop.input;
    const States states = temporal_states(loop.size, loop.offset, extent);
    const Wide one = number<Wide>(1);
    return part_of(states, {select(states.partial, tile.edge, tile.full), tile.edge}, {one, one});
  }

  // Of the loop dealt to the PEs.
  GYM_INLINE Part deal(Wide extent) {
    const Dealt& loop = level_.dealt;
    const States states = spatial_states(loop.size, loop.offset, level_.units, extent);
    const Spread before = Spreader(level_, states, false).spread();
    const Spread at_end = Spreader(level_, states, true).spread();
    const WideFlag ends = states.edge > 0;
    for (const TensorId id : {kInput, kFilter}) {
      const Wide words =
          most(most_fetched(id, before), select(ends, most_fetched(id, at_end), Wide{}));
      most_dealt_[id] = most(most_dealt_[id], words);
    }
    most_dealt_[kOutput] =
        most(most_dealt_[kOutput], most(before.outputs, select(ends, at_end.outputs, Wide{})));
    return part_of(states, {before.unit_macs, at_end.unit_macs},
                   {before.busy_units, at_end.busy_units});
  }
  GYM_INLINE static Wide most_fetched(TensorId id, const Spread& spread) {
    return most(spread.fetched.resident[id],
                most(spread.fetched.whole[id], spread.fetched.fresh[id]));
  }

  const Problem& problem_;
  const Level& level_;
  std::array<std::array<Part, 2>, kMaxLoops> part_;
  std::array<Wide, kTensors> most_dealt_{};  // words of all units, along the dealt loop
  WideFlag right_;
};

}  // namespace
}  // namespace gym::maestro::wide
