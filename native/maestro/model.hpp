// The MAESTRO binary's arithmetic for one layer in a file of its own.
#pragma once

#include "../core/model.hpp"
#include "../wide/batch.hpp"
#include "analysis.hpp"
#include "least_bytes.hpp"
#include "wide/problem.hpp"

namespace gym::maestro {

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
