#include "copies.hpp"

#include <algorithm>
#include <utility>

namespace gym::improve {

namespace {

// Other figures than costs are in full rows only.
Detail detail_of(const std::vector<Ground>& grounds, bool in_full) {
  const auto needs_rows = [](const Ground& ground) {
    return ground.bottlenecks ||
           std::ranges::any_of(ground.columns, [](std::size_t column) { return column >= kCosts; });
  };
  return in_full || std::ranges::any_of(grounds, needs_rows) ? Detail::rows : Detail::costs;
}

}  // namespace

Copies::Copies(std::vector<Ground> grounds, std::int64_t count, bool in_full, int threads)
    : grounds_(std::move(grounds)),
      seen_width_(static_cast<std::int64_t>(grounds_[0].seen_width())),
      detail_(detail_of(grounds_, in_full)),
      threads_(threads),
      ground_of_(at(count, 1), -1),
      points_(at(count, width())),
      values_(at(count, 1)),
      seen_(at(count, seen_width_)),
      moved_(at(1, width())),
      failed_(at(1, width())) {}

void Copies::place(std::int64_t copy, std::int64_t index) {
  ground_of_[at(copy, 1)] = static_cast<std::int32_t>(index);
  const Ground& ground = ground_of(copy);
  // The context stands behind costs and mapping, and stays as it is.
  const std::size_t start = at(copy, seen_width_) + kObserved + ground.moves.shown().size();
  std::copy(ground.context.begin(), ground.context.end(), &seen_[start]);
}

void Copies::after(std::int64_t copy, Indices moves, std::int32_t* point) const {
  const Ground& ground = ground_of(copy);
  const std::int32_t* before = present(copy);
  std::copy_n(before, width(), point);
  for (const std::int64_t move : moves) ground.moves.make(move, before, point);
  ground.problem->clip(point);
}

void Copies::gather(Indices copies, const std::int32_t* points) {
  ends_.assign(grounds_.size(), 0);
  for (const std::int64_t copy : copies) ++ends_[index_of(copy)];
  std::size_t start = 0;
  for (std::size_t& each : ends_) start += std::exchange(each, start);
  order_.resize(copies.size());
  gathered_.resize(at(std::ssize(copies), width()));
  for (std::size_t k = 0; k < copies.size(); ++k) {
    const std::size_t place = ends_[index_of(copies[k])]++;
    order_[place] = k;
    std::copy_n(points + static_cast<std::int64_t>(k) * width(), width(),
                gathered_.data() + static_cast<std::int64_t>(place) * width());
  }
}

void Copies::try_points(Indices copies, const std::int32_t* points, const Outcome& outcome) {
  gather(copies, points);
  rows_.resize(std::max(rows_.size(), copies.size()));
  statuses_.resize(std::max(statuses_.size(), copies.size()));
  std::size_t place = 0;
  for (std::size_t g = 0; g < grounds_.size(); ++g) {
    if (ends_[g] == place) continue;
    const std::int32_t* point = gathered_.data() + static_cast<std::int64_t>(place) * width();
    grounds_[g].problem->evaluate(point, static_cast<std::int64_t>(ends_[g] - place), threads_,
                                  {&rows_[place], &statuses_[place], detail_});
    for (; place < ends_[g]; ++place, point += width()) {
      const std::size_t k = order_[place];
      const Metrics& row = rows_[place];
      const Status status = statuses_[place];
      outcome.values[k] = value_of(row, status, grounds_[g].columns);
      outcome.codes[k] = static_cast<std::int64_t>(status);
      if (outcome.rows != nullptr) outcome.rows[k] = row;
      if (status == Status::ok) accept(copies[k], point, outcome.values[k], row);
    }
  }
}

void Copies::accept(std::int64_t copy, const std::int32_t* point, double value,
                    const Metrics& row) {
  const Ground& ground = ground_of(copy);
  std::copy_n(point, width(), &points_[at(copy, width())]);
  values_[at(copy, 1)] = value;
  float* seen = &seen_[at(copy, seen_width_)];
  observe(row, seen);
  seen += kObserved;
  ground.moves.show(point, seen);
  seen += ground.moves.shown().size() + ground.context.size();
  if (ground.bottlenecks) ground.bottlenecks->show(point, row, seen);
}

void Copies::mask(std::int64_t copy, bool* allowed) {
  const Ground& ground = ground_of(copy);
  MasksOfVectors& masks = ground.problem->masks();
  const bool keeps_choices = ground.problem->keeps_choices();
  const std::int32_t* before = present(copy);
  std::int32_t* point = moved_.data();
  bool any_failed = false;
  for (std::int64_t move = 0; move < moves(); ++move) {
    const Change* only = ground.moves.only(move);
    const std::int32_t choice = only ? ground.moves.after(*only, before) : 0;
    allowed[move] = false;
    if (only && choice == before[only->column]) continue;
    const bool alone = only && keeps_choices;
    allowed[move] = alone && masks.eases(only->column, before[only->column], choice);
    if (allowed[move]) continue;
    after(copy, {&move, 1}, point);
    if (std::equal(before, before + width(), point)) continue;
    // What needs more than what is not allowed is not either.
    if (any_failed && masks.eases(point, failed_.data())) continue;
    allowed[move] = (!alone && masks.eases(before, point)) || masks.allows(point);
    if (allowed[move]) continue;
    std::copy_n(point, width(), failed_.data());
    any_failed = true;
  }
}

}  // namespace gym::improve
