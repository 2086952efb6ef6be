// The exact model for one layer: MAESTRO's conventions, counted exactly.
#pragma once

#include <optional>

#include "../core/model.hpp"
#include "../wide/batch.hpp"
#include "report.hpp"
#include "timer.hpp"
#include "wide/problem.hpp"

namespace gym::exact {

class ExactModel final : public Model {
 public:
  ExactModel(const Layer& layer, const Hardware& hardware);

  Status evaluate(const Mapping& mapping, Metrics& metrics) override;
  void evaluate(const Points& points, const Results& results) override;
  using Model::evaluate;
  bool sizes(const MapSpace& space) override { return tiler_.reads(space); }
  // True for valid ones only.
  bool may_fit(const MapSpace& space, const std::int32_t* point) override {
    return size(space, space.read(point), Detail::costs) == Status::ok;
  }

  int problem() const override { return problem_; }
  std::vector<ClusterMetrics> clusters() const override;

  // The results of the mapping evaluated last, as exact integers.
  const Report& report() const { return report_; }

 private:
  Status begin();
  // Of a space that the tiler reads.
  Status size(const MapSpace& space, const MapSpace::Chosen& chosen, Detail detail);
  // Of the tiling's extents. Counts are positive, so that all a row can lack is capacity.
  Status size(Detail detail);
  void count(Detail detail, Metrics& metrics);

  Layer layer_;
  Hardware hardware_;
  bool possible_;                    // hardware
  std::optional<LoopNest> checked_;  // none if the layer cannot be computed
  LoopNest nest_;
  Totals totals_;
  bool always_fits_;                        // in buffers, cut in two levels
  std::array<bool, kMaxLevels> countable_;  // mappings of 1, 2, ... levels
  Tiler tiler_;
  Tiling tiling_;
  Partition partition_;
  Timer timer_;
  Traffic traffic_;
  wide::Problem wide_problem_;
  bool fits_lanes_;
  Batch<wide::Problem> lanes_;
  Report report_{};
  int problem_ = -1;
};

}  // namespace gym::exact
