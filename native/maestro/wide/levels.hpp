// How the levels of several mappings cut their loops: see ../level.hpp and ../cases.hpp.
#pragma once

#include "../../wide/lanes.hpp"
#include "problem.hpp"

namespace gym::maestro::wide {
namespace {

// See TileSizes.
struct Tile {
  Wide full, fresh, edge, fresh_edge;
};

// A loop at one level.
struct LevelLoop {
  Wide extent, size, offset;
  Wide place;  // in the level's order, 0 outermost
  WideFlag spatial;
  Tile input, output;  // along the input, and along the output if that has the loop
};

// The loop dealt to the units.
struct Dealt {
  Wide extent, size, offset, place;
  Tile input, output;
  std::array<Wide, kTensors> in;  // 1 if the tensor has it, else 0
};

struct Level {
  std::array<LevelLoop, kMaxLoops> loop;
  Dealt dealt;
  Wide units, edge_units;
};

// See LoopStates.
struct States {
  Wide steady, edge;  // how often they occur
  WideFlag unrolled, partial, ragged;

  GYM_INLINE Wide count() const { return 1 + steady + edge; }
};

GYM_INLINE WideFlag flag(bool value) { return (value ? number<Wide>(1) : Wide{}) > 0; }

// S5.1
GYM_INLINE States temporal_states(Wide size, Wide offset, Wide extent) {
  States states;
  states.unrolled = extent <= size;
  states.partial = extent < size;
  states.ragged = flag(false);
  states.steady = floor_div(most(extent - size, Wide{}), offset);
  states.edge = select(states.steady * offset + size < extent, number<Wide>(1), Wide{});
  return states;
}

// Units with work in the round after these steps, which begins so far before the end.
GYM_INLINE Wide busy_units(Wide size, Wide offset, Wide rest) {
  return select(rest < size, Wide{}, floor_div(most(rest - size, Wide{}), offset)) + 1;
}

// S5.2
GYM_INLINE States spatial_states(Wide size, Wide offset, Wide units, Wide extent) {
  const Wide reach = size + offset * (units - 1);
  const Wide round = offset * units;
  States states;
  states.unrolled = extent <= reach;
  const Wide tiles = floor_div(most(extent - size, Wide{}), offset) + 1;
  const Wide steps = most(floor_div(tiles, units) - 1, Wide{});
  const WideFlag ends = ((steps + 1) * round + reach > extent) & (steps * round + reach != extent);
  const Wide rest = extent - (steps + 1) * round;
  const Wide busy = busy_units(size, offset, rest);
  states.partial = extent < reach;
  states.ragged = states.unrolled ? states.partial : ends & ((busy - 1) * offset + size < rest);
  states.steady = select(states.unrolled, Wide{}, steps);
  states.edge = select(~states.unrolled & ends, number<Wide>(1), Wide{});
  return states;
}

// S4.4
GYM_INLINE Wide edge_units(const Dealt& dealt, Wide units) {
  const Wide size = dealt.size, offset = dealt.offset, extent = dealt.extent;
  const Wide tiles = floor_div(most(extent - size, Wide{}), offset) + 1;
  const Wide partial = select(offset * (tiles - 1) + size < extent, number<Wide>(1), Wide{});
  const Wide rounds = floor_div(tiles, units);
  const Wide rest = extent - rounds * offset * units;
  const Wide in_one_round = select(extent > size, tiles + partial, number<Wide>(1));
  return select(extent > offset * (units - 1) + size, busy_units(size, offset, rest), in_one_round);
}

// S4.2 steps 1 and 4, S6.1
GYM_INLINE LevelLoop cut_loop(const Loop& loop, Wide extent, Wide tile, WideFlag spatial,
                              bool below_top) {
  LevelLoop cut;
  cut.extent = extent;
  cut.spatial = spatial;
  cut.size = tile + (loop.window - 1);
  cut.offset = tile;
  if (loop.stride != 1) {
    const Wide outputs =
        floor_div(cut.size + (loop.stride - loop.window), number<Wide>(loop.stride));
    cut.size =
        outputs * std::min(loop.stride, loop.window) + std::max(loop.window - loop.stride, 0.0);
    cut.offset = outputs * (below_top ? std::min(loop.stride, loop.window) : loop.stride);
  }
  const Wide steps = floor_div(most(extent - cut.size, Wide{}), cut.offset);
  const WideFlag partial = steps * cut.offset + cut.size < extent;
  const Wide left = extent - (steps + 1) * cut.offset;
  const Wide rest = select(left < 0, extent, left);
  const Wide advance = least(cut.size, cut.offset);
  Tile& tiles = cut.input;
  tiles.full = cut.size;
  tiles.fresh = select(~spatial & (extent <= cut.size), Wide{}, advance);
  tiles.edge = select(partial, rest, cut.size);
  tiles.fresh_edge = most(cut.offset - (cut.size - rest), Wide{});
  cut.output = tiles;
  if (loop.slides) {
    cut.output.full = tiles.full - (loop.window - 1);
    cut.output.fresh = advance;
    cut.output.edge = tiles.edge - (loop.window - 1);
    cut.output.fresh_edge = least(cut.offset, cut.output.edge);
  }
  return cut;
}

// `above` is null for the top level.
GYM_INLINE Level cut_level(const Problem& problem, const WideTiling::Level& tiling,
                           const Level* above) {
  Level level;
  level.dealt = Dealt{};
  level.units = tiling.units;
  for (int d = 0; d < problem.loops; ++d) {
    const Loop& loop = problem.loop[d];
    const WideFlag spatial = tiling.spatial == number<Wide>(d);
    const Wide extent = above == nullptr ? number<Wide>(loop.extent)
                                         : least(above->loop[d].size, above->loop[d].extent);
    LevelLoop& cut = level.loop[d];
    cut = cut_loop(loop, extent, tiling.tile[d], spatial, above != nullptr);
    cut.place = tiling.place[d];
    Dealt& dealt = level.dealt;
    dealt.extent = select(spatial, cut.extent, dealt.extent);
    dealt.size = select(spatial, cut.size, dealt.size);
    dealt.offset = select(spatial, cut.offset, dealt.offset);
    dealt.place = select(spatial, cut.place, dealt.place);
    dealt.input = choose(spatial, cut.input, dealt.input);
    dealt.output = choose(spatial, cut.output, dealt.output);
    for (const TensorId id : {kInput, kFilter, kOutput}) {
      dealt.in[id] = select(spatial & flag(loop.in[id]), number<Wide>(1), dealt.in[id]);
    }
  }
  level.edge_units = edge_units(level.dealt, level.units);
  return level;
}

// What is sure of what the formulas above take for granted.
GYM_INLINE WideFlag is_regular(const Problem& problem, const Level& level) {
  WideFlag regular = level.units >= 1;
  for (int d = 0; d < problem.loops; ++d) {
    const LevelLoop& loop = level.loop[d];
    regular &= (loop.size <= loop.extent) & (loop.offset > 0) & (loop.input.edge > 0) &
               (loop.input.edge <= loop.size) & (loop.output.edge > 0);
  }
  return regular;
}

GYM_INLINE States states_of(const LevelLoop& loop, Wide units, Wide extent) {
  const States dealt = spatial_states(loop.size, loop.offset, units, extent);
  const States other = temporal_states(loop.size, loop.offset, extent);
  States states;
  states.steady = select(loop.spatial, dealt.steady, other.steady);
  states.edge = select(loop.spatial, dealt.edge, other.edge);
  states.unrolled = loop.spatial ? dealt.unrolled : other.unrolled;
  states.partial = loop.spatial ? dealt.partial : other.partial;
  states.ragged = loop.spatial ? dealt.ragged : other.ragged;
  return states;
}

}  // namespace
}  // namespace gym::maestro::wide
