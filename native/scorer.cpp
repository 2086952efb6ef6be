#include "scorer.hpp"

#include <algorithm>
#include <limits>

namespace gym {

namespace {

void blank(Metrics& metrics, Detail detail) {
  double* figures = reinterpret_cast<double*>(&metrics);
  std::fill_n(figures, columns_of(detail), std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

Scorer::Scorer(const ScorerSpec& spec)
    : hardware_(spec.hardware), model_(make_model(spec.model, spec.layer, spec.hardware)) {
  if (spec.guarded) guard_.emplace(spec.layer, loop_nest(spec.layer).value(), spec.hardware);
}

Status Scorer::score(const Mapping& mapping, Metrics& metrics) {
  blank(metrics, Detail::rows);
  Status status = model_->evaluate(mapping, metrics);
  if (status == Status::ok && guard_) status = guard_->check(mapping, metrics);
  return status == Status::ok ? check_limits(metrics) : status;
}

void Scorer::score(const MapSpace& space, const std::int32_t* points, std::int64_t count,
                   Metrics* rows, Status* statuses, Detail detail) {
  // What the guard finds out comes before the capacities.
  if (guard_) detail = Detail::rows;
  std::for_each(rows, rows + count, [detail](Metrics& row) { blank(row, detail); });
  model_->evaluate(space, points, count, rows, statuses, detail);
  for (std::int64_t i = 0; i < count; ++i, points += space.parameters.size()) {
    if (statuses[i] == Status::ok && guard_) statuses[i] = guard_->check(space, points, rows[i]);
    if (statuses[i] == Status::ok) statuses[i] = check_limits(rows[i]);
  }
}

Status Scorer::check_limits(const Metrics& metrics) const {
  const Status status = check_positive(metrics);
  if (status != Status::ok) return status;
  return check_capacities(metrics.l1_bytes, metrics.l2_bytes, hardware_);
}

}  // namespace gym
