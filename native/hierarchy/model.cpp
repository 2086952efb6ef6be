#include "model.hpp"

#include <algorithm>

namespace gym::hierarchy {

Model::Model(const Shape& shape, const Accelerator& accelerator, const Options& options)
    : shape_(shape),
      accelerator_(accelerator),
      options_(options),
      nest_(accelerator_),
      traffic_(shape_, accelerator_, options_),
      costs_(accelerator_, options_, traffic_) {}

// A word counts in a step in which a MAC touches it, or lies in a gap behind such a one, so no
// counter exceeds this product (H7).
bool Model::overflows() const {
  const std::int64_t rows = std::max(shape_.stride[0], shape_.dilation[0]);
  const std::int64_t columns = std::max(shape_.stride[1], shape_.dilation[1]);
  double levels = 1, gaps = 1;
  for (const Element& each : accelerator_.elements) {
    levels += each.is_memory ? 1 : 0;
    if (each.memory.gaps) gaps = static_cast<double>(rows * columns);
  }
  return levels * shape_.macs_estimate() * nest_.units_estimate() * gaps >= 0x1p60;
}

Verdict Model::evaluate(Mapping mapping, Figures& figures, bool of_overflows) {
  const Verdict verdict = nest_.read(shape_, mapping);
  if (verdict != Verdict::ok) return verdict;
  if (overflows()) return Verdict::overflow;
  const Verdict fitting = costs_.fits(nest_, traffic_) ? Verdict::ok : Verdict::pool_overflow;
  if (!has_results(fitting, of_overflows)) return fitting;
  traffic_.count(nest_, costs_.timed() && options_.exposed, moved_);
  costs_.count(moved_, flows_);
  used_.clear();
  if (costs_.timed() && !options_.exposed) {
    for (int e = 0; e < accelerator_.rest(); ++e) {
      used_.push_back(traffic_.instances(e, (LoopSet{1} << kLoops) - 1));
    }
  }
  steps_.clear();
  for (int e = 0; e < accelerator_.rest(); ++e) {
    const bool launches = accelerator_.elements[e].memory.launch_cycles > 0;
    steps_.push_back(launches ? traffic_.steps(e) : 0);
  }
  const bool refills = accelerator_.elements[0].memory.refill > 0;
  figures = costs_.figures(flows_, used_, steps_, refills ? traffic_.output_tiles() : 1,
                           traffic_.compute_cycles(nest_), shape_.macs_estimate());
  return fitting;
}

bool Model::fits(Mapping mapping) {
  return nest_.read(shape_, mapping) == Verdict::ok && costs_.fits(nest_, traffic_);
}

}  // namespace gym::hierarchy
