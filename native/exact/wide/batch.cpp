#include "batch.hpp"

namespace gym::exact::wide {

void Batch::add(const Tiling& tiling) {
  for (std::size_t j = 0; j < tiling_.level.size(); ++j) {
    add_level(tiling.level[j], tiling_.level[j]);
  }
  ++size_;
}

void Batch::add_level(const TiledLevel& level, WideTiling::Level& to) const {
  std::array<int, kLoops> place;
  place.fill(-1);
  // Loops that are not cut come first, in any order: they never move.
  for (int i = 0; i < level.count; ++i) place[level.order[i]] = problem_.loops - level.count + i;
  int uncut = 0;
  to.spatial[size_] = -1;
  for (int d = 0; d < problem_.loops; ++d) {
    const LoopId id = problem_.loop[d].id;
    to.tile[d][size_] = real(level.tile[id]);
    to.place[d][size_] = place[id] >= 0 ? place[id] : uncut++;
    if (id == level.spatial) to.spatial[size_] = d;
  }
  to.units[size_] = real(level.units);
}

void Batch::run() {
  // Lanes without a mapping repeat the first one.
  for (WideTiling::Level& level : tiling_.level) {
    const auto repeat = [this](Wide& numbers) {
      for (int lane = size_; lane < kLanes; ++lane) numbers[lane] = numbers[0];
    };
    for (int d = 0; d < problem_.loops; ++d) {
      repeat(level.tile[d]);
      repeat(level.place[d]);
    }
    repeat(level.spatial);
    repeat(level.units);
  }
  evaluate(problem_, tiling_, figures_, right_);
  size_ = 0;
}

void Batch::read(int lane, Metrics& metrics) const {
  const auto* columns = reinterpret_cast<const double*>(&figures_);
  auto* row = reinterpret_cast<double*>(&metrics);
  columns += lane;
#pragma GCC unroll 9
  for (std::size_t c = 0; c < kMetrics; ++c) row[c] = columns[c * kLanes];
}

}  // namespace gym::exact::wide
