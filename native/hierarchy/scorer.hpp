// Rows of metrics and statuses of the points of a space.
#pragma once

#include <memory>
#include <vector>

#include "../core/model.hpp"
#include "model.hpp"
#include "space.hpp"

namespace gym::hierarchy {

struct ScorerSpec {
  Shape shape;
  Accelerator accelerator;
  Options options;
};

class Scorer {
 public:
  using Spec = ScorerSpec;
  using Space = hierarchy::Space;

  explicit Scorer(const ScorerSpec& spec);

  // Figures are NaN where there is no result.
  Status score(Mapping mapping, Detail detail, Metrics& metrics);
  // The same for points in range: one row and one status each.
  void score(const PointsOf<Space>& points, const Results& results);

  // How much a mapping lacks: 0 if it is valid, the sum of the shares of all capacities that are
  // missing if they are exceeded, else 1.
  double violation(const Space& space, const std::int32_t* point);
  // Whether the tiles of a point fit all memories.
  bool fits(const Space& space, const std::int32_t* point);

 private:
  std::unique_ptr<Model> model_;
  double macs_, lanes_;
  bool has_energies_;
  std::vector<MappedLoop> decoded_;
};

}  // namespace gym::hierarchy
