#include "batch.hpp"

#include "../../wide/fastest.hpp"

namespace gym::exact::wide {

Evaluate fastest() {
#ifdef __x86_64__
  return fastest_of(evaluate_avx2, evaluate_avx512);
#else
  return nullptr;
#endif
}

void Batch::add(const Tiling& tiling) {
  for (std::size_t j = 0; j < tilings_.level.size(); ++j) {
    add_level(tiling.level[j], tilings_.level[j]);
  }
  ++size_;
}

void Batch::add_level(const TiledLevel& level, TilingColumns::Level& to) const {
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

}  // namespace gym::exact::wide
