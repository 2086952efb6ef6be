// Collects tilings of one layer until there is a block of them.
#pragma once

#include "../../wide/batch.hpp"
#include "../tiling.hpp"
#include "block.hpp"

namespace gym::exact::wide {

class Batch : public gym::Batch<Problem> {
 public:
  explicit Batch(const Problem& problem, Evaluate evaluate = fastest())
      : gym::Batch<Problem>(problem, evaluate) {}

  void add(const Tiling& tiling);

 private:
  void add_level(const TiledLevel& level, TilingColumns::Level& to) const;
};

}  // namespace gym::exact::wide
