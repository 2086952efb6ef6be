// Collects tilings of one layer until there is a block of them.
#pragma once

#include "../tiling.hpp"
#include "block.hpp"

namespace gym::exact::wide {

class Batch {
 public:
  explicit Batch(const Problem& problem, Evaluate evaluate = fastest())
      : problem_(problem), evaluate_(evaluate) {}

  // Whether this processor evaluates mappings side by side.
  bool works() const { return evaluate_ != nullptr; }
  int size() const { return size_; }
  bool full() const { return size_ == kBlock; }
  void add(const Tiling& tiling);
  // Evaluates those there are, and is empty again.
  void run();

  // Of the last run: whether the figures of its i-th mapping are right, and what they are.
  bool right(int i) const { return results_.right.of[static_cast<std::size_t>(i)] != 0; }
  void read(int i, Metrics& metrics) const { results_.read(i, metrics); }

 private:
  void add_level(const TiledLevel& level, TilingColumns::Level& to) const;

  const Problem& problem_;
  const Evaluate evaluate_;
  TilingColumns tilings_;
  int size_ = 0;
  ResultColumns results_;
};

}  // namespace gym::exact::wide
