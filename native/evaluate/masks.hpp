// Which choices leave a mapping that fits the buffers (docs/masks.md).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "../core/model.hpp"

namespace gym {

// Points are partial here: an entry that is not chosen yet is open.
class MasksOfVectors {
 public:
  static constexpr std::int32_t kOpen = -1;

  virtual ~MasksOfVectors() = default;

  const std::vector<VectorSpace::Parameter>& parameters() const { return parameters_; }
  // Whether no mapping fits.
  bool none() const { return none_; }

  // Whether each choice of a parameter leaves a mapping that fits, with the other entries as they
  // are; what this column holds does not matter.
  std::vector<bool> allowed(std::vector<std::int32_t> point, std::size_t column);

  // Whether all choices of a point are allowed, and ...
  bool allows(const std::int32_t* point);
  // ... whether those of one are certainly allowed if those of another are, ...
  bool eases(const std::int32_t* from, const std::int32_t* to) const;
  // ... where one parameter alone differs.
  bool eases(std::int32_t column, std::int32_t from, std::int32_t to) const {
    const Needs needs = needs_[static_cast<std::size_t>(column)];
    return decides_ && (from == to || needs == Needs::nothing ||
                        (needs == Needs::rise && to < from) || (needs == Needs::fall && to > from));
  }

  // Writes a point whose choices are drawn one after the other, each uniformly from those allowed,
  // by a number in [0, 1) a parameter. Some mapping must fit.
  void draw(const double* uniform, std::int32_t* point);

  // The choices that need least of the buffers, but for the one that may need anything,
  // which is open.
  std::vector<std::int32_t> least() const;
  // Of points so completed: how many choices of a parameter fit, tiles from the least on, clusters
  // from the largest on, ...
  std::int32_t count(std::int32_t* point, std::size_t column);
  // ... and whether each choice of a parameter does.
  std::vector<bool> try_all(std::int32_t* point, std::size_t column);

 protected:
  // How the choices of a parameter are ordered by what they need of the buffers; at most one in
  // any way.
  enum class Needs { nothing, rise, fall, any };

  explicit MasksOfVectors(std::vector<VectorSpace::Parameter> parameters)
      : parameters_(std::move(parameters)), needs_(parameters_.size(), Needs::nothing) {}

  // For constructors: what choices of a parameter need; then whether some mapping fits.
  void set(const Choice& choice, Needs needs);
  void begin() {
    none_ = !fits(least().data());
    decides_ = true;
  }

 private:
  // Whether the buffers may hold the mapping of a point without open entries.
  virtual bool may_fit(const std::int32_t* point) = 0;

  std::int32_t choices(std::size_t column) const { return parameters_[column].choices; }
  // The choices by rising needs.
  std::int32_t choice(std::size_t column, std::int32_t rank) const {
    return needs_[column] == Needs::fall ? choices(column) - 1 - rank : rank;
  }
  // Chooses what needs least for all open entries but the one that may need anything.
  void complete(std::int32_t* point) const;
  // Of a point so completed.
  bool fits(std::int32_t* point);

  std::vector<VectorSpace::Parameter> parameters_;
  std::vector<Needs> needs_;  // by column
  int any_ = -1;              // the column of these
  bool none_ = false;
  bool decides_ = false;  // whether needs alone say what fits
};

// Of mappings of two levels; the outer parallel dimension may need anything.
class Masks : public MasksOfVectors {
 public:
  Masks(std::unique_ptr<Model> model, MapSpace space);

  const MapSpace& space() const { return space_; }

 private:
  bool may_fit(const std::int32_t* point) override {
    return !sizes_ || model_->may_fit(space_, point);
  }

  std::unique_ptr<Model> model_;
  MapSpace space_;
  bool sizes_;
};

}  // namespace gym
