// What copies play on: a problem with its moves, and what is seen of it.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/model.hpp"
#include "../evaluate/batch_of.hpp"
#include "../evaluate/masks.hpp"
#include "../evaluate/observation.hpp"
#include "../hierarchy/space.hpp"
#include "bottlenecks.hpp"
#include "moves.hpp"

namespace gym::improve {

// A space of vectors whose points are evaluated, and masked, under some model.
class Problem {
 public:
  Problem() = default;
  virtual ~Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // Writes rows, of costs or in full, and statuses of points in range.
  virtual void evaluate(const std::int32_t* points, std::int64_t count, int threads,
                        const Results& results) = 0;
  // Makes a point the one that stands for its mapping.
  virtual void clip(std::int32_t* point) = 0;
  // Whether another choice of a parameter is another mapping unless it needs more of the buffers.
  virtual bool keeps_choices() const = 0;
  virtual MasksOfVectors& masks() = 0;
};

// Refers to its arguments.
template <typename Scorer>
class ProblemOf final : public Problem {
 public:
  using Space = typename Scorer::Space;

  ProblemOf(BatchOf<Scorer>& batch, const Space& space, MasksOfVectors& masks)
      : batch_(batch), space_(space), masks_(masks) {}

  void evaluate(const std::int32_t* points, std::int64_t count, int threads,
                const Results& results) override {
    const auto stray = batch_.evaluate({space_, points, count}, threads, results.rows,
                                       results.statuses, results.detail);
    if (stray) throw std::invalid_argument("a point is out of the range of its space");
  }
  void clip(std::int32_t* point) override {
    if constexpr (kTwoLevels) {
      space_.clip(point);
    } else {
      space_.decode(point, loops_);
      space_.encode(loops_, point);
    }
  }
  // Of two levels only inner tiles are clipped; of others what cuts nothing has no place.
  bool keeps_choices() const override { return kTwoLevels; }
  MasksOfVectors& masks() override { return masks_; }

 private:
  static constexpr bool kTwoLevels = std::is_same_v<Space, MapSpace>;

  BatchOf<Scorer>& batch_;
  const Space& space_;
  MasksOfVectors& masks_;
  std::vector<hierarchy::MappedLoop> loops_;
};

struct Ground {
  // Numbers that are seen of a mapping: costs, choices, context, bottlenecks.
  std::size_t seen_width() const {
    return kObserved + moves.shown().size() + context.size() + (bottlenecks ? kFeatures : 0);
  }

  std::unique_ptr<Problem> problem;
  Moves moves;
  Columns columns;                                 // whose product is the objective
  std::vector<float> context;                      // that is seen
  std::unique_ptr<const Bottlenecks> bottlenecks;  // none: they are not seen
};

}  // namespace gym::improve
