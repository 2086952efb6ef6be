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
  void add(const std::int32_t* point);
  void read(int i, Metrics& metrics) const;

 private:
  const MapSpace* space_ = nullptr;
  std::array<int, MapSpace::kMaxLoops> loop_{};  // by dimension of the space
};

}  // namespace gym::maestro::wide
