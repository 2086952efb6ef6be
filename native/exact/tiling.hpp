// A mapping as nested tiles over the canonical loops (E2).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "../core/map_space.hpp"
#include "../core/status.hpp"
#include "tile.hpp"

namespace gym::exact {

inline constexpr int kMaxLevels = 4;

struct TiledLevel {
  // The tile of a loop the level does not cut: larger than any extent.
  static constexpr std::int64_t kUncut = std::numeric_limits<std::int32_t>::max();

  std::int64_t units = 1;  // clusters, or PEs at the last level
  LoopId spatial = kLoops;
  Extents extent{};  // of a tile
  int count = 0;
  std::array<LoopId, kLoops> order{};  // loops that cut something, outermost first
  Extents tile{};

  void open(const Extents& above) {
    clear();
    spatial = kLoops;
    extent = above;
  }
  void clear() {
    count = 0;
    tile.fill(kUncut);
  }
  // A loop of so many indices above the level; of one chunk, it is not cut. Without a branch, as
  // it would not be foreseen.
  void cut(LoopId id, std::int64_t above) {
    const bool several = extent[id] < above;
    order[count] = id;
    count += several ? 1 : 0;
    tile[id] = several ? extent[id] : kUncut;
  }
  bool cuts(LoopId id) const { return tile[id] != kUncut; }
  std::int64_t units_of(LoopId id) const { return id == spatial ? units : 1; }
};

struct Tiling {
  int levels = 0;
  std::array<TiledLevel, kMaxLevels> level;
};

// Reads the mappings of one layer.
class Tiler {
 public:
  Tiler(const LoopNest& nest, Operator op);

  // The tiling of a mapping, or the first problem with it. `problem` is the index of the directive
  // at fault, or -1.
  Status tile(const Mapping& mapping, std::int64_t num_pes, Tiling& tiling, int& problem) const;

  // The loop that directives of a dimension cut, or kLoops.
  LoopId loop(Dim dim) const { return loop_[dim]; }

  // Whether every directive of a space cuts a loop of its own into tiles of its size.
  bool reads(const MapSpace& space) const;
  // Whether no point of such a space cuts a window.
  bool leaves_windows(const MapSpace& space) const;
  // Units and extents of what a point of such a space chooses, ...
  Status size(const MapSpace& space, const MapSpace::Chosen& chosen, std::int64_t num_pes,
              Tiling& tiling) const;
  // ... and the rest of that tiling.
  void order(const MapSpace& space, const MapSpace::Chosen& chosen, Tiling& tiling) const;

 private:
  Status check_syntax(const Mapping& mapping, int& problem) const;
  std::optional<std::int64_t> tile_size(const Directive& directive, std::int64_t extent) const;

  const LoopNest& nest_;
  Operator op_;
  std::array<LoopId, kMaxDims> loop_;  // by dimension, kLoops if it is none
};

}  // namespace gym::exact
