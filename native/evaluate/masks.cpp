#include "masks.hpp"

#include <algorithm>
#include <utility>

namespace gym {

namespace {

// 0, 1, ... or count - 1 by a number in [0, 1); at an end by any other number.
std::int32_t one_of(std::int64_t count, double uniform) {
  const auto number = static_cast<std::int64_t>(uniform * static_cast<double>(count));
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(number, 0, count - 1));
}

}  // namespace

Masks::Masks(std::unique_ptr<Model> model, MapSpace space)
    : MasksOfVectors(space.parameters),
      model_(std::move(model)),
      space_(std::move(space)),
      sizes_(model_->sizes(space_)) {
  for (const MapSpace::Level& level : space_.levels) {
    for (const Choice& tile : level.tiles) set(tile, Needs::rise);
  }
  set(space_.cluster, Needs::fall);
  set(space_.levels[0].parallel, Needs::any);
  begin();
}

void MasksOfVectors::set(const Choice& choice, Needs needs) {
  if (choice.column < 0) return;
  needs_[static_cast<std::size_t>(choice.column)] = needs;
  if (needs == Needs::any) any_ = choice.column;
}

std::vector<std::int32_t> MasksOfVectors::least() const {
  std::vector<std::int32_t> point(needs_.size(), kOpen);
  complete(point.data());
  return point;
}

std::vector<bool> MasksOfVectors::allowed(std::vector<std::int32_t> point, std::size_t column) {
  point[column] = kOpen;
  complete(point.data());
  if (needs_[column] == Needs::any) return try_all(point.data(), column);
  std::vector<bool> mask(static_cast<std::size_t>(choices(column)));
  const std::int32_t fitting = count(point.data(), column);
  for (std::int32_t rank = 0; rank < fitting; ++rank) {
    mask[static_cast<std::size_t>(choice(column, rank))] = true;
  }
  return mask;
}

bool MasksOfVectors::allows(const std::int32_t* point) {
  if (decides_) return may_fit(point);
  // As a mask says it that is as short as any.
  const auto fewest = std::ranges::min_element(parameters_, {}, &VectorSpace::Parameter::choices);
  const auto column = static_cast<std::size_t>(fewest - parameters_.begin());
  return allowed({point, point + parameters_.size()},
                 column)[static_cast<std::size_t>(point[column])];
}

bool MasksOfVectors::eases(const std::int32_t* from, const std::int32_t* to) const {
  const auto columns = static_cast<std::int32_t>(needs_.size());
  for (std::int32_t column = 0; column < columns; ++column) {
    if (!eases(column, from[column], to[column])) return false;
  }
  return true;
}

void MasksOfVectors::draw(const double* uniform, std::int32_t* point) {
  std::fill_n(point, needs_.size(), kOpen);
  complete(point);
  for (std::size_t column = 0; column < needs_.size(); ++column) {
    if (needs_[column] == Needs::any) {
      const std::vector<bool> mask = try_all(point, column);
      const auto fitting = std::count(mask.begin(), mask.end(), true);
      std::int32_t rank = one_of(fitting, uniform[column]);
      point[column] = 0;
      while (fitting > 0 && (!mask[point[column]] || rank-- > 0)) ++point[column];
    } else {
      const bool all = needs_[column] == Needs::nothing;
      // Where masks are not complete perhaps none fits; then it is the least one.
      const std::int32_t fitting = std::max(1, all ? choices(column) : count(point, column));
      point[column] = choice(column, one_of(fitting, uniform[column]));
    }
  }
}

void MasksOfVectors::complete(std::int32_t* point) const {
  for (std::size_t column = 0; column < needs_.size(); ++column) {
    const bool open = point[column] == kOpen && needs_[column] != Needs::any;
    if (open) point[column] = choice(column, 0);
  }
}

bool MasksOfVectors::fits(std::int32_t* point) {
  if (any_ < 0 || point[any_] != kOpen) return may_fit(point);
  const std::vector<bool> mask = try_all(point, static_cast<std::size_t>(any_));
  return std::find(mask.begin(), mask.end(), true) != mask.end();
}

std::int32_t MasksOfVectors::count(std::int32_t* point, std::size_t column) {
  const std::int32_t before = point[column];
  const auto fits_at = [&](std::int32_t rank) {
    point[column] = choice(column, rank);
    return fits(point);
  };
  std::int32_t fitting = choices(column);
  // Often all of them.
  if (!fits_at(fitting - 1)) {
    std::int32_t least = 0;
    --fitting;
    while (least < fitting) {
      const std::int32_t middle = least + (fitting - least) / 2;
      if (fits_at(middle)) {
        least = middle + 1;
      } else {
        fitting = middle;
      }
    }
  }
  point[column] = before;
  return fitting;
}

std::vector<bool> MasksOfVectors::try_all(std::int32_t* point, std::size_t column) {
  const std::int32_t before = point[column];
  std::vector<bool> mask(static_cast<std::size_t>(choices(column)));
  for (std::int32_t i = 0; i < choices(column); ++i) {
    point[column] = i;
    mask[static_cast<std::size_t>(i)] = fits(point);
  }
  point[column] = before;
  return mask;
}

}  // namespace gym
