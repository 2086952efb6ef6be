// A small network for each decision: it scores options by their features, in view of the problem
// and of what was decided before.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "decisions.hpp"

namespace gym::prior {

// Sums are taken in the same order on every processor.
class Networks {
 public:
  // One after the other for each decision, in rows of `hidden` or `mixed` numbers, which are
  // multiples of 64.
  struct Weights {
    std::vector<float> context, state, bias, hidden, mixed_bias, option, score;
  };
  struct Widths {
    std::size_t context, hidden, mixed;
  };

  Networks(Widths widths, Weights weights);

  const Widths& widths() const { return widths_; }
  // What the first layers make of a context, which all mappings of a problem share.
  std::vector<float> read(std::span<const float> context) const;
  // Writes a score of every option.
  void score(int decision, std::span<const float> context_read, const float* state,
             const Options& options, float* scores) const;

 private:
  Widths widths_;
  Weights weights_;
};

}  // namespace gym::prior
