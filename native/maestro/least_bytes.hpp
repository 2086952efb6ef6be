// What mappings of a space need of the buffers at least, as the binary sizes them (docs/masks.md).
#pragma once

#include "../core/hardware.hpp"
#include "../core/map_space.hpp"
#include "layer_table.hpp"

namespace gym::maestro {

class LeastBytes {
 public:
  LeastBytes(const Layer& layer, const LayerTable& table, const Hardware& hardware);

  // Whether neither L1 nor L2 is certainly too small.
  bool may_fit(const MapSpace& space, const MapSpace::Chosen& chosen) const;

 private:
  // Of a tile, by dimension: of Y and X input rows and columns.
  using Sizes = std::array<std::int64_t, kMaxDims>;

  Sizes sizes(const MapSpace& space, const MapSpace::Chosen::Level& level) const;
  std::int64_t tile_words(const Sizes& tile, TensorId id) const;
  std::int64_t array_words(const Sizes& tile, Dim spatial, std::int64_t units, TensorId id) const;

  const LayerTable& table_;
  Hardware hardware_;
  bool countable_;  // no sum of the binary's wraps around
  bool strided_;
};

}  // namespace gym::maestro
