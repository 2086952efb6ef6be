// The exact model for one layer: MAESTRO's conventions, counted exactly.
#pragma once

#include <optional>

#include "../model.hpp"
#include "report.hpp"

namespace gym::exact {

class ExactModel final : public Model {
 public:
  ExactModel(const Layer& layer, const Hardware& hardware);

  // The evaluator refers to its siblings.
  ExactModel(const ExactModel&) = delete;
  ExactModel& operator=(const ExactModel&) = delete;

  Status evaluate(const Mapping& mapping, Metrics& metrics) override;

  int problem() const override { return problem_; }
  std::vector<ClusterMetrics> clusters() const override;

  // The results of the mapping evaluated last, as exact integers.
  const Report& report() const { return report_; }

 private:
  Layer layer_;
  Hardware hardware_;
  std::optional<LoopNest> checked_;  // none if the layer cannot be computed
  LoopNest nest_;
  Tiler tiler_;
  Tiling tiling_;
  BoxTimer boxes_;
  Traffic traffic_;
  Findings findings_;
  Report report_;
  int problem_ = -1;
};

}  // namespace gym::exact
