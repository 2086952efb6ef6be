#include "batch.hpp"

namespace gym::exact::wide {

void Batch::add(const Tiling& tiling) {
  for (std::size_t j = 0; j < tilings_.level.size(); ++j) {
    add_level(tiling.level[j], tilings_.level[j]);
  }
  ++size_;
}

void Batch::add_level(const TiledLevel& level, Tilings::Level& to) const {
  const auto i = static_cast<std::size_t>(size_);
  // Loops that are not cut come first, in any order: they never move.
  std::array<int, kLoops> place;
  place.fill(-1);
  for (int k = 0; k < level.count; ++k) place[level.order[k]] = problem_.loops - level.count + k;
  int uncut = 0;
  to.spatial.of[i] = -1;
  for (int d = 0; d < problem_.loops; ++d) {
    const LoopId id = problem_.loop[d].id;
    to.tile[d].of[i] = real(level.tile[id]);
    to.place[d].of[i] = place[id] >= 0 ? place[id] : uncut++;
    if (id == level.spatial) to.spatial.of[i] = d;
  }
  to.units.of[i] = real(level.units);
}

void Batch::run() {
  // What is left of the block repeats the first mapping.
  const auto fill = [this](Column& column) {
    for (auto i = static_cast<std::size_t>(size_); i < kBlock; ++i) column.of[i] = column.of[0];
  };
  for (Tilings::Level& level : tilings_.level) {
    for (int d = 0; d < problem_.loops; ++d) {
      fill(level.tile[d]);
      fill(level.place[d]);
    }
    fill(level.spatial);
    fill(level.units);
  }
  evaluate_(problem_, tilings_, results_);
  size_ = 0;
}

void Batch::read(int i, Metrics& metrics) const {
  auto* row = reinterpret_cast<double*>(&metrics);
#pragma GCC unroll 9
  for (std::size_t c = 0; c < kMetrics; ++c) {
    row[c] = results_.figures[c].of[static_cast<std::size_t>(i)];
  }
}

}  // namespace gym::exact::wide
