#include "batch.hpp"

namespace gym {

BatchEvaluator::Single BatchEvaluator::evaluate(const Mapping& mapping) {
  return with_scorer([&](Scorer& scorer) {
    Single single;
    single.status = scorer.score(mapping, single.metrics);
    single.clusters = scorer.model().clusters();
    single.problem = scorer.model().problem();
    return single;
  });
}

}  // namespace gym
