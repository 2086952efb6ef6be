// How the levels of several mappings cut their loops: see ../level.hpp.
#pragma once

#include "../../wide/lanes.hpp"
#include "../cut.hpp"
#include "problem.hpp"

namespace gym::maestro::wide {
namespace {

using Tile = BasicTile<Wide>;
using States = BasicStates<Wide>;

// How a level cuts a loop.
struct LoopCut {
  Wide extent, size, offset;
  Wide place;          // in the level's order, 0 outermost
  Tile input, output;  // along the input, and along the output if that has the loop
};

struct LevelLoop : LoopCut {
  WideFlag spatial;
};

// The loop dealt to the units.
struct Dealt : LoopCut {
  std::array<Wide, kTensors> in;  // 1 if the tensor has it, else 0
};

struct Level {
  std::array<LevelLoop, kMaxLoops> loop;
  Dealt dealt;
  Wide units, edge_units;
};

GYM_INLINE WideFlag flag(bool value) { return (value ? number<Wide>(1) : Wide{}) > 0; }

// Along a sliding axis a tile of outputs begins with the window's first rows.
GYM_INLINE LevelLoop cut_loop(const Loop& loop, Wide extent, Wide tile, WideFlag spatial,
                              bool below_top) {
  const Wide window = number<Wide>(loop.window);
  LevelLoop cut;
  cut.extent = extent;
  cut.spatial = spatial;
  cut.size = tile + (window - 1);
  cut.offset = tile;
  if (loop.stride != 1) {
    const auto shrunk = shrink_tile(cut.size, number<Wide>(loop.stride), window, below_top);
    cut.size = shrunk.size;
    cut.offset = shrunk.offset;
  }
  cut.input = cut.output = cut_tile(cut.size, cut.offset, extent, spatial);
  if (loop.slides) {
    cut.output = cut_outputs<Wide>(cut.input, cut.offset, {window, window, window, window});
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
    LoopCut& dealt = level.dealt;
    dealt = choose<LoopCut>(spatial, cut, dealt);
    for (const TensorId id : {kInput, kFilter, kOutput}) {
      Wide& in = level.dealt.in[id];
      in = select(spatial & flag(loop.in[id]), number<Wide>(1), in);
    }
  }
  level.edge_units =
      edge_units(level.dealt.size, level.dealt.offset, level.units, level.dealt.extent);
  return level;
}

// What is sure of what the formulas above take for granted.
GYM_INLINE WideFlag is_regular(const Problem& problem, const Level& level) {
  WideFlag regular = level.units >= 1;
  for (int d = 0; d < problem.loops; ++d) {
    const LevelLoop& loop = level.loop[d];
    regular &= (loop.size <= loop.extent) & (loop.offset > 0) & (loop.output.edge >= Wide{});
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
