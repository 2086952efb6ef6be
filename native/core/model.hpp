// What a cost model is to the rest: a mapping in, figures or the reason for none out.
#pragma once

#include <vector>

#include "hardware.hpp"
#include "map_space.hpp"
#include "metrics.hpp"
#include "status.hpp"

namespace gym {

// Where a row and a status of each point go, and what is wanted of them.
struct Results {
  Metrics* rows;
  Status* statuses;
  Detail detail = Detail::rows;
};

class Model {
 public:
  Model() = default;
  virtual ~Model() = default;
  // The parts of one refer to each other.
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Fills `metrics` if and only if it returns `ok`; what it has no figure for is NaN. Buffers are
  // kept between calls.
  virtual Status evaluate(const Mapping& mapping, Metrics& metrics) = 0;
  // The same for the mapping of a point in range.
  Status evaluate(const MapSpace& space, const std::int32_t* point, Metrics& metrics) {
    space.decode(point, decoded_);
    return evaluate(decoded_, metrics);
  }

  // The same for many points, a row and a status each; the two questions below are not about these.
  // A model whose results pass all checks but the capacities may make these first.
  virtual void evaluate(const Points& points, const Results& results) {
    for (std::int64_t i = 0; i < points.count; ++i) {
      results.statuses[i] = evaluate(points.space, points[i], results.rows[i]);
    }
  }

  // Whether it can say of points of a space that they do not fit.
  virtual bool sizes(const MapSpace&) { return true; }
  // Whether the buffers may hold the mapping of a point in range of such a space: false if it is
  // certainly invalid. Once false, it stays so as tiles grow and clusters shrink, and it does not
  // depend on orders or on the inner parallel dimension (docs/masks.md).
  virtual bool may_fit(const MapSpace& space, const std::int32_t* point) = 0;

  // Of the mapping evaluated last: the index of the directive at fault, or -1, ...
  virtual int problem() const { return -1; }
  // ... and the buffers between L2 and L1, outermost first, for models that have them.
  virtual std::vector<ClusterMetrics> clusters() const { return {}; }

 private:
  Mapping decoded_;
};

}  // namespace gym
