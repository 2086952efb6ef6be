// The MAESTRO binary's arithmetic for one layer in a file of its own.
#pragma once

#include "../core/hardware.hpp"
#include "../core/map_space.hpp"
#include "../core/model.hpp"
#include "../wide/batch.hpp"
#include "analysis.hpp"
#include "level.hpp"
#include "wide/problem.hpp"

namespace gym::maestro {

// What mappings of a space need of the buffers at least, as the binary sizes them (docs/masks.md).
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

class MaestroModel final : public Model {
 public:
  MaestroModel(const Layer& layer, const Hardware& hardware);

  Status evaluate(const Mapping& mapping, Metrics& metrics) override;
  void evaluate(const Points& points, const Results& results) override;
  bool may_fit(const MapSpace& space, const std::int32_t* point) override {
    return least_bytes_.may_fit(space, space.read(point));
  }
  using Model::evaluate;

 private:
  // The extents a layer lists for R or S: the least and the most, where there are any.
  struct Window {
    Window(const Layer& layer, Dim dim);

    bool several() const { return least < most; }

    std::int32_t least = std::numeric_limits<std::int32_t>::max();
    std::int32_t most = 0;
  };

  bool parses(const Mapping& mapping) const;
  void report(Metrics& metrics) const;

  std::array<Window, 2> windows_;  // R, S
  Hardware hardware_;
  LayerTable table_;
  Machine machine_;
  LeastBytes least_bytes_;
  Analysis analysis_;
  Levels levels_;
  LayerResult result_;
  wide::Problem wide_problem_;
  Batch<wide::Problem> lanes_;
};

}  // namespace gym::maestro
