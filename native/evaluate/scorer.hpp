// One mapping's figures and verdict: model, guard and capacities in one call.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "../core/model.hpp"
#include "guard.hpp"

namespace gym {

struct ScorerSpec {
  std::string model;
  Layer layer;
  Hardware hardware;
  bool guarded = true;
};

class Scorer {
 public:
  using Spec = ScorerSpec;
  using Space = MapSpace;

  // The layer must have a loop nest and the model a known name.
  explicit Scorer(const ScorerSpec& spec);

  // Figures are NaN where there is no result; capacity and guard statuses keep them.
  Status score(const Mapping& mapping, Metrics& metrics);
  // The same for points in range: one row and one status each.
  void score(const Points& points, Results results);

  const Model& model() const { return *model_; }

 private:
  Status check_limits(const Metrics& metrics) const;

  Hardware hardware_;
  std::unique_ptr<Model> model_;
  std::optional<Guard> guard_;
  Mapping decoded_;
};

}  // namespace gym
