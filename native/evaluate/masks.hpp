// Which choices leave a mapping that fits the buffers (docs/masks.md).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../core/model.hpp"

namespace gym {

// Points are partial here: an entry that is not chosen yet is open.
class Masks {
 public:
  static constexpr std::int32_t kOpen = -1;

  Masks(std::unique_ptr<Model> model, MapSpace space);

  const MapSpace& space() const { return space_; }
  // Whether no mapping fits.
  bool none() const { return none_; }

  // Whether each choice of a parameter leaves a mapping that fits, with the other entries as they
  // are; what this column holds does not matter.
  std::vector<bool> allowed(std::vector<std::int32_t> point, std::size_t column);

  // Writes a point whose choices are drawn one after the other, each uniformly from those allowed,
  // by a number in [0, 1) a parameter. Some mapping must fit.
  void draw(const double* uniform, std::int32_t* point);

  // The choices that need least of the buffers, but for the outer parallel dimension, which is
  // open.
  std::vector<std::int32_t> least() const;
  // Of points so completed: how many choices of a parameter fit, tiles from the least on, clusters
  // from the largest on, ...
  std::int32_t count(std::int32_t* point, std::size_t column);
  // ... and whether each choice of the outer parallel dimension does.
  std::vector<bool> try_all(std::int32_t* point, std::size_t column);

 private:
  // How the choices of a parameter are ordered by what they need of the buffers.
  enum class Needs { nothing, rise, fall, any };

  std::int32_t choices(std::size_t column) const { return space_.parameters[column].choices; }
  // The choices by rising needs.
  std::int32_t choice(std::size_t column, std::int32_t rank) const {
    return needs_[column] == Needs::fall ? choices(column) - 1 - rank : rank;
  }
  // Chooses what needs least for all open entries but the outer parallel dimension.
  void complete(std::int32_t* point) const;
  // Of a point so completed.
  bool fits(std::int32_t* point);

  std::unique_ptr<Model> model_;
  MapSpace space_;
  std::vector<Needs> needs_;  // by column
  bool none_;
};

}  // namespace gym
