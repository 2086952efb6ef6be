#include "scorer.hpp"

#include <algorithm>
#include <limits>

#include "models.hpp"

namespace gym {

namespace {

void blank(Metrics& metrics, Detail detail) {
  double* figures = reinterpret_cast<double*>(&metrics);
  std::fill_n(figures, columns_of(detail), std::numeric_limits<double>::quiet_NaN());
}

// Without the guard too, a row must be a positive amount of time, energy and silicon.
Status check_positive(const Metrics& metrics) {
  if (!(metrics.latency_cycles > 0)) return Status::above_peak;
  const bool paid = metrics.energy_nj > 0 && !(metrics.csv_energy_nj <= 0) &&
                    metrics.l1_bytes > 0 && metrics.l2_bytes > 0;
  return paid ? Status::ok : Status::below_compulsory;
}

}  // namespace

Scorer::Scorer(const ScorerSpec& spec)
    : hardware_(spec.hardware), model_(make_model(spec.model, spec.layer, spec.hardware)) {
  if (spec.guarded) guard_.emplace(spec.layer, loop_nest(spec.layer).value(), spec.hardware);
}

Status Scorer::score(const Mapping& mapping, Metrics& metrics) {
  blank(metrics, Detail::rows);
  Status status = model_->evaluate(mapping, metrics);
  if (status == Status::ok && guard_) {
    status = guard_->check(metrics, [&]() -> const Mapping& { return mapping; });
  }
  return status == Status::ok ? check_limits(metrics) : status;
}

void Scorer::score(const Points& points, Results results) {
  // What the guard finds out comes before the capacities.
  if (guard_) results.detail = Detail::rows;
  for (std::int64_t i = 0; i < points.count; ++i) blank(results.rows[i], results.detail);
  model_->evaluate(points, results);
  for (std::int64_t i = 0; i < points.count; ++i) {
    Status& status = results.statuses[i];
    const Metrics& row = results.rows[i];
    if (status == Status::ok && guard_) {
      status = guard_->check(row, [&]() -> const Mapping& {
        points.space.decode(points[i], decoded_);
        return decoded_;
      });
    }
    if (status == Status::ok) status = check_limits(row);
  }
}

Status Scorer::check_limits(const Metrics& metrics) const {
  const Status status = check_positive(metrics);
  if (status != Status::ok) return status;
  return hardware_.check_capacities(metrics.l1_bytes, metrics.l2_bytes);
}

}  // namespace gym
