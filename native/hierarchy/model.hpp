// The hierarchical model of one layer on one accelerator with any memories, and the rows of metrics
// and statuses that it gives the points of a space.
#pragma once

#include <memory>
#include <vector>

#include "../core/model.hpp"
#include "costs.hpp"
#include "space.hpp"

namespace gym::hierarchy {

// Whether there are figures; mappings that exceed a capacity have some if wanted.
constexpr bool has_results(Verdict verdict, bool of_overflows = true) {
  return verdict == Verdict::ok || (of_overflows && verdict == Verdict::pool_overflow);
}

class Model {
 public:
  Model(const Shape& shape, const Accelerator& accelerator, const Options& options);
  // The parts of one refer to each other.
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Where there are results, they last until the next call.
  Verdict evaluate(Mapping mapping, Figures& figures, bool of_overflows = true);
  // Whether the tiles of a mapping fit all memories.
  bool fits(Mapping mapping);

  const std::vector<Boundary>& boundaries() const { return traffic_.boundaries(); }
  const std::vector<Moved>& moved() const { return moved_; }
  const std::vector<Flows>& flows() const { return flows_; }
  // Bits that the tiles of a tensor take of the physical memory of an element.
  double needs(int element, int tensor) const {
    return costs_.needs(nest_, traffic_, element, tensor);
  }
  // The sum of the shares of all capacities that the tiles exceed them by.
  double missing() const { return costs_.missing(nest_, traffic_); }
  std::vector<Prices> prices() const { return costs_.prices(traffic_); }
  auto roundings() const { return costs_.roundings(traffic_); }

 private:
  bool overflows() const;

  Shape shape_;
  Accelerator accelerator_;
  Options options_;
  Nest nest_;
  Traffic traffic_;
  Costs costs_;
  std::vector<Moved> moved_;
  std::vector<Flows> flows_;
  std::vector<std::int64_t> used_, steps_;
};

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
