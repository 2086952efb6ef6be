#include "model.hpp"

#include <algorithm>
#include <limits>

#include "../core/constants.hpp"

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

namespace {

// A verdict, of which the other list of statuses has all.
Status status_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return Status::ok;
    case Verdict::bad_tile:
      return Status::bad_tile;
    case Verdict::fanout_exceeded:
      return Status::fanout_exceeded;
    case Verdict::overflow:
      return Status::overflow;
    case Verdict::pool_overflow:
      return Status::pool_overflow;
  }
  return Status::bad_hw;
}

double lanes_of(const Accelerator& accelerator) {
  double lanes = static_cast<double>(accelerator.simd_lanes);
  for (const Element& each : accelerator.elements) {
    if (!each.is_memory) lanes *= static_cast<double>(each.fanout.size);
  }
  return lanes;
}

bool has_energies(const Accelerator& accelerator) {
  return accelerator.mac_pj > 0 ||
         std::any_of(accelerator.elements.begin(), accelerator.elements.end(),
                     [](const Element& each) {
                       return each.is_memory ? each.memory.read_pj + each.memory.write_pj > 0
                                             : each.fanout.pj > 0;
                     });
}

}  // namespace

Scorer::Scorer(const ScorerSpec& spec)
    : model_(std::make_unique<Model>(spec.shape, spec.accelerator, spec.options)),
      macs_(spec.shape.macs_estimate()),
      lanes_(lanes_of(spec.accelerator)),
      has_energies_(has_energies(spec.accelerator)) {}

Status Scorer::score(Mapping mapping, Detail detail, Metrics& metrics) {
  std::fill_n(reinterpret_cast<double*>(&metrics), columns_of(detail),
              std::numeric_limits<double>::quiet_NaN());
  Figures figures{};
  const Verdict verdict = model_->evaluate(mapping, figures, detail == Detail::rows);
  if (!has_results(verdict, detail == Detail::rows)) return status_of(verdict);
  metrics.latency_cycles = figures.latency_cycles;
  metrics.macs = macs_;
  metrics.macs_per_cycle = macs_ / figures.latency_cycles;
  metrics.utilization = metrics.macs_per_cycle / lanes_;
  // Without energies of accesses there is none of mappings.
  if (has_energies_) {
    metrics.energy_nj = figures.energy_pj / 1000;
    metrics.power_mw =
        constants::kMilliwattPerNjPerCycle * metrics.energy_nj / metrics.latency_cycles;
  }
  return status_of(verdict);
}

void Scorer::score(const PointsOf<Space>& points, const Results& results) {
  for (std::int64_t i = 0; i < points.count; ++i) {
    points.space.decode(points[i], decoded_);
    results.statuses[i] = score(decoded_, results.detail, results.rows[i]);
  }
}

double Scorer::violation(const Space& space, const std::int32_t* point) {
  space.decode(point, decoded_);
  Figures figures{};
  switch (model_->evaluate(decoded_, figures, false)) {
    case Verdict::ok:
      return 0;
    case Verdict::pool_overflow:
      return model_->missing();
    default:
      return 1;
  }
}

bool Scorer::fits(const Space& space, const std::int32_t* point) {
  space.decode(point, decoded_);
  return model_->fits(decoded_);
}

}  // namespace gym::hierarchy
