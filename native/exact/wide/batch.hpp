// Collects two-level tilings of one layer until there is one for every lane.
#pragma once

#include "../tiling.hpp"
#include "evaluate.hpp"

namespace gym::exact::wide {

class Batch {
 public:
  explicit Batch(const Problem& problem) : problem_(problem) {}

  int size() const { return size_; }
  bool full() const { return size_ == kLanes; }
  void add(const Tiling& tiling);
  // Evaluates those there are, and is empty again.
  void run();

  // Of the last run: whether a lane's figures are right, and what they are.
  bool right(int lane) const { return right_[lane] != 0; }
  void read(int lane, Metrics& metrics) const;

 private:
  void add_level(const TiledLevel& level, WideTiling::Level& to) const;

  const Problem& problem_;
  WideTiling tiling_;
  int size_ = 0;
  BasicMetrics<Wide> figures_;
  WideFlag right_;
};

}  // namespace gym::exact::wide
