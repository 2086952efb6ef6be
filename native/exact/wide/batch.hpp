// Collects the points of a map space until there is a block of them.
#pragma once

#include "../../wide/batch.hpp"
#include "../tiling.hpp"
#include "block.hpp"

namespace gym::exact::wide {

class Batch : public gym::Batch<Problem> {
 public:
  explicit Batch(const Problem& problem, Evaluate evaluate = fastest())
      : gym::Batch<Problem>(problem, evaluate) {}

  // From now on points are of this space, as long as it lives; the tiler reads it, and its points
  // leave windows whole.
  void open(const MapSpace& space, const Tiler& tiler);
  // Adds a point, or says why it has no row.
  Status add(const std::int32_t* point);
};

}  // namespace gym::exact::wide
