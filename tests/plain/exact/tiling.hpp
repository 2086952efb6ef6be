// A mapping as nested tiles over the canonical loops (E2).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "../loop_nest.hpp"
#include "../mapping.hpp"
#include "../status.hpp"

namespace gym::exact {

inline constexpr int kMaxLevels = 4;

struct TiledLoop {
  LoopId id;
  std::int64_t tile;
};

struct TiledLevel {
  std::int64_t units = 1;  // clusters, or PEs at the last level
  int count = 0;
  std::array<TiledLoop, kLoops> loops{};  // that cut something, outermost first
  LoopId spatial = kLoops;
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

 private:
  Status check_syntax(const Mapping& mapping, int& problem) const;
  std::optional<std::int64_t> tile_size(const Directive& directive, std::int64_t extent) const;

  const LoopNest& nest_;
  Operator op_;
  std::array<LoopId, kMaxDims> loop_;  // by dimension, kLoops if it is none
};

}  // namespace gym::exact
