// Mappings of two levels: many points of one map space, or any single mapping.
#pragma once

#include <vector>

#include "batch_of.hpp"
#include "scorer.hpp"

namespace gym {

class BatchEvaluator : public BatchOf<Scorer> {
 public:
  using BatchOf::BatchOf;
  using BatchOf::evaluate;

  struct Single {
    Status status = Status::ok;
    Metrics metrics{};
    std::vector<ClusterMetrics> clusters;
    int problem = -1;  // index of the directive at fault
  };

  // One mapping, from the map space or not, in full.
  Single evaluate(const Mapping& mapping);
};

}  // namespace gym
