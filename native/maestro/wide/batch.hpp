// Collects the points of a map space until there is a block of them.
#pragma once

#include "../../map_space.hpp"
#include "../../wide/batch.hpp"
#include "block.hpp"

namespace gym::maestro::wide {

class Batch : public gym::Batch<Problem> {
 public:
  explicit Batch(const Problem& problem, Evaluate evaluate = fastest())
      : gym::Batch<Problem>(problem, evaluate) {}

  // Whether mappings of a space are evaluated side by side; then points are of that space from now
  // on, as long as it lives.
  bool reads(const MapSpace& space);
  void read(int i, Metrics& metrics) const;

 private:
  // The loop that directives of a dimension cut, or -1.
  int loop_of(Dim dim) const;
};

}  // namespace gym::maestro::wide
