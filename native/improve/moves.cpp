#include "moves.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "../core/integers.hpp"
#include "../core/map_space.hpp"

namespace gym::improve {

namespace {

using Kind = Moves::Parameter::Kind;

// The rank of an order in which the loops at a place and behind it are exchanged. A digit of the
// rank (its Lehmer code) counts later loops of lower numbers.
std::int32_t swapped(std::int32_t rank, std::int32_t place, std::int32_t loops) {
  std::int32_t weight = 1;  // of the digit behind the place
  for (std::int32_t i = 2; i <= loops - 2 - place; ++i) weight *= i;
  const std::int32_t base = loops - 1 - place;
  const std::int32_t second = rank / weight % base;
  const std::int32_t first = rank / weight / base % (base + 1);
  // If the first loop has the higher number, it counts the second one.
  const bool falls = first > second;
  const std::int32_t new_first = falls ? second : second + 1;
  const std::int32_t new_second = falls ? first - 1 : first;
  return rank + ((new_first - first) * base + new_second - second) * weight;
}

std::int32_t with_innermost(std::int32_t rank, std::int32_t loop, std::int32_t loops) {
  const auto n = static_cast<std::size_t>(loops);
  const MapSpace::Order& order = permutations(n)[static_cast<std::size_t>(rank)];
  const auto found = std::find(order.begin(), order.begin() + loops, loop);
  for (auto place = found - order.begin(); place < loops - 1; ++place) {
    rank = swapped(rank, static_cast<std::int32_t>(place), loops);
  }
  return rank;
}

// The last choice whose size is at most this, or the first.
std::int32_t choice_of(const Moves::Parameter& parameter, std::int64_t size) {
  std::int64_t choices = size;
  if (!parameter.values.empty()) {
    const auto above = std::upper_bound(parameter.values.begin(), parameter.values.end(), size);
    choices = above - parameter.values.begin();
  }
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(choices, 1, parameter.choices) - 1);
}

}  // namespace

Moves::Moves(std::vector<Parameter> parameters, std::vector<Move> moves)
    : parameters_(std::move(parameters)), moves_(std::move(moves)) {
  for (std::int32_t column = 0; column < width(); ++column) {
    const Parameter& each = parameters_[static_cast<std::size_t>(column)];
    const bool is_order = each.kind == Kind::order;
    const auto choices = static_cast<std::size_t>(each.choices);
    const bool known =
        is_order ? each.loops >= 1 && each.loops <= std::ssize(MapSpace::Order{}) &&
                       permutations(static_cast<std::size_t>(each.loops)).size() == choices
                 : each.choices >= 1 && each.whole < width();
    if (!known || (each.kind == Kind::size && each.shown.size() != choices)) {
      throw std::invalid_argument("no parameter has so many choices");
    }
    const std::int32_t numbers = is_order                      ? each.loops
                                 : each.kind == Kind::parallel ? each.choices
                                                               : 1;
    shown_.insert(shown_.end(), static_cast<std::size_t>(numbers), column);
  }
  for (const Move& move : moves_) {
    for (const Change& change : move) require(change);
  }
}

void Moves::require(const Change& change) const {
  const bool inside = change.column >= 0 && change.column < width();
  const Parameter* parameter =
      inside ? &parameters_[static_cast<std::size_t>(change.column)] : nullptr;
  const std::int32_t argument = change.argument;
  bool fits = inside;
  switch (change.rule) {
    case Rule::stay:
      break;
    case Rule::swap:
    case Rule::innermost:
      fits = fits && parameter->kind == Kind::order && argument >= 0 &&
             argument < parameter->loops - (change.rule == Rule::swap ? 1 : 0);
      break;
    case Rule::set:
      fits =
          fits && parameter->kind != Kind::order && argument >= 0 && argument < parameter->choices;
      break;
    default:
      fits = fits && parameter->kind == Kind::size;
  }
  if (!fits) throw std::invalid_argument("no parameter can change so");
}

std::int32_t Moves::after(const Change& change, const std::int32_t* present) const {
  const Parameter& parameter = parameters_[static_cast<std::size_t>(change.column)];
  const std::int32_t choice = present[change.column];
  switch (change.rule) {
    case Rule::swap:
      return swapped(choice, change.argument, parameter.loops);
    case Rule::innermost:
      return with_innermost(choice, change.argument, parameter.loops);
    case Rule::set:
      return change.argument;
    case Rule::minus:
      return std::max(choice - 1, 0);
    case Rule::plus:
      return std::min(choice + 1, parameter.choices - 1);
    case Rule::one:
      return 0;
    default:
      return resized(parameter, change, present);
  }
}

std::int32_t Moves::resized(const Parameter& parameter, const Change& change,
                            const std::int32_t* present) const {
  const std::int64_t size = size_of(change.column, present);
  if (change.rule == Rule::half) return choice_of(parameter, size / 2);
  if (change.rule == Rule::twice) return choice_of(parameter, size * 2);
  const std::int64_t largest =
      parameter.values.empty() ? parameter.choices : parameter.values.back();
  const std::int64_t whole =
      parameter.whole < 0 ? largest : std::min(largest, size_of(parameter.whole, present));
  if (change.rule == Rule::all) return choice_of(parameter, whole);
  const std::int64_t chunks = ceil_div(whole, size);
  const std::int64_t added = change.rule == Rule::more ? 1 : change.rule == Rule::fewer ? -1 : 0;
  return choice_of(parameter, ceil_div(whole, std::max<std::int64_t>(chunks + added, 1)));
}

std::int64_t Moves::size_of(std::int32_t column, const std::int32_t* point) const {
  const Parameter& parameter = parameters_[static_cast<std::size_t>(column)];
  const std::int32_t choice = point[column];
  return parameter.values.empty() ? choice + std::int64_t{1}
                                  : parameter.values[static_cast<std::size_t>(choice)];
}

void Moves::show(const std::int32_t* point, float* to) const {
  for (const Parameter& each : parameters_) {
    const auto choice = static_cast<std::size_t>(*point++);
    if (each.kind == Kind::size) {
      *to++ = each.shown[choice];
    } else if (each.kind == Kind::parallel) {
      std::fill_n(to, each.choices, 0.0F);
      to[choice] = 1;
      to += each.choices;
    } else {
      const MapSpace::Order& order = permutations(static_cast<std::size_t>(each.loops))[choice];
      const double last = std::max(each.loops - 1, 1);
      for (std::int32_t place = 0; place < each.loops; ++place) {
        to[order[static_cast<std::size_t>(place)]] = static_cast<float>(place / last);
      }
      to += each.loops;
    }
  }
}

}  // namespace gym::improve
