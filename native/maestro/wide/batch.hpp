// Collects the points of a map space until there is a block of them.
#pragma once

#include "../../map_space.hpp"
#include "block.hpp"

namespace gym::maestro::wide {

class Batch {
 public:
  explicit Batch(const Problem& problem, Evaluate evaluate = fastest())
      : problem_(problem), evaluate_(evaluate) {}

  // Whether this processor evaluates mappings of a space side by side; then `space` is the one that
  // points are of, as long as it lives.
  bool reads(const MapSpace& space);
  int size() const { return size_; }
  bool full() const { return size_ == kBlock; }
  void add(const std::int32_t* point);
  // Evaluates those there are, and is empty again.
  void run();

  // Of the last run: whether the figures of its i-th mapping are right, and what they are.
  bool right(int i) const { return results_.right.of[static_cast<std::size_t>(i)] != 0; }
  void read(int i, Metrics& metrics) const;

 private:
  const Problem& problem_;
  const Evaluate evaluate_;
  const MapSpace* space_ = nullptr;
  std::array<int, MapSpace::kMaxLoops> loop_{};  // by dimension of the space
  TilingColumns tilings_;
  int size_ = 0;
  ResultColumns results_;
};

}  // namespace gym::maestro::wide
