// What holding little of one tensor costs: the two others are moved often (docs/optimum.md, 5).
#pragma once

#include "../box.hpp"
#include "traffic.hpp"

namespace gym::optimum {

// Of one level, in a box of mappings.
class Trade {
 public:
  // The array's tile of each tensor has so many words at most.
  Trade(const Problem& problem, const Box& box, std::size_t level, const PerTensor& held);

  // Energy in nJ that words take at least above the least of each, if loop `x` moves innermost, in
  // pieces that have at least this share of its indices.
  double more_nj(int x, const Words& least, double share) const;

 private:
  const Problem& problem_;
  PerTensor each_;   // nJ of a word that is moved
  PerTensor words_;  // of a whole tensor, rows in common counted once
  PerTensor steps_;  // of the loops that are axes of a tensor, at least, together
};

}  // namespace gym::optimum
