// Actions of all heads, an index of a choice each: drawn, explored and refined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../core/numpy_order.hpp"
#include "functions.hpp"

namespace gym::agents {

// Rows of actions, one after the other.
struct Actions {
  const std::int64_t* first;
  std::size_t rows;
};

class Heads {
 public:
  // Of each head its choices and whether they are sizes; of each choice its place, the base-2
  // logarithm of the size.
  Heads(std::vector<std::int64_t> counts, const std::vector<bool>& are_sizes,
        std::vector<double> places, Function exp2);

  std::size_t count() const { return counts_.size(); }
  const std::vector<std::int64_t>& counts() const { return counts_; }

  // The choice of a head of sizes that is nearest to a size scaled by octaves, at least one away.
  std::int64_t scaled(std::size_t head, std::int64_t action, double octaves) const;
  // Replaces each action with a chance: sizes, by the chance `local`, by a step, others by any.
  void explore(Actions actions, double chance, double local, Random& random,
               std::int64_t* explored) const;
  // Writes a variant of one of the best for each drawn row: two sizes are scaled, by the chance
  // `pairs`, or one action changes. Throws std::invalid_argument without two sizes.
  void refine(Actions best, Actions drawn, double pairs, Random& random,
              std::int64_t* variants) const;

 private:
  std::vector<double> draw_octaves(std::size_t count, Random& random) const;

  std::vector<std::int64_t> counts_;
  std::vector<std::size_t> starts_, sizes_;
  std::vector<bool> are_sizes_;
  std::vector<double> places_;
  Function exp2_;
};

}  // namespace gym::agents
