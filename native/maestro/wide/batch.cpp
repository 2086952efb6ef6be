#include "batch.hpp"

#include <algorithm>

#include "../../wide/fastest.hpp"

namespace gym::maestro::wide {

namespace {

// A row's average as the binary has it.
double average(double sum, double steps) {
  return static_cast<double>(static_cast<long double>(sum) / static_cast<long double>(steps));
}

// Whether a level never cuts a dimension.
bool is_whole(const MapSpace::Level& level, std::size_t d, double extent) {
  return level.tiles[d].column < 0 && level.tiles[d].values[0] == extent;
}

}  // namespace

Evaluate fastest() {
#ifdef __x86_64__
  return fastest_of(evaluate_avx2, evaluate_avx512);
#else
  return nullptr;
#endif
}

bool Batch::reads(const MapSpace& space) {
  space_ = &space;
  if (!works() || !problem_.fits || problem_.open == 0) return false;
  if (space.dims.size() != static_cast<std::size_t>(problem_.loops)) return false;
  for (std::size_t d = 0; d < space.dims.size(); ++d) {
    const auto* end = problem_.loop.data() + problem_.loops;
    const auto* found = std::find_if(problem_.loop.data(), end, [&](const Loop& loop) {
      return space.dims[d] == (loop.slides ? output_axis(loop.dim) : loop.dim);
    });
    if (found == end || std::count(space.dims.begin(), space.dims.end(), space.dims[d]) > 1) {
      return false;
    }
    loop_[d] = static_cast<int>(found - problem_.loop.data());
    if (loop_[d] < problem_.open) continue;
    const double outputs = found->extent - (found->window - 1);
    if (!is_whole(space.levels[0], d, outputs) || !is_whole(space.levels[1], d, outputs)) {
      return false;
    }
  }
  return true;
}

void Batch::add(const std::int32_t* point) {
  const auto i = static_cast<std::size_t>(size_++);
  const std::vector<MapSpace::Order>& orders = permutations(space_->dims.size());
  std::array<std::int32_t, MapSpace::kMaxLoops> outer{};
  for (std::size_t j = 0; j < tilings_.level.size(); ++j) {
    const MapSpace::Level& level = space_->levels[j];
    TilingColumns::Level& to = tilings_.level[j];
    const MapSpace::Order& order = orders[point[level.order_column]];
    for (std::size_t place = 0; place < space_->dims.size(); ++place) {
      const std::uint8_t d = order[place];
      std::int32_t tile = level.tiles[d].pick(point);
      if (j > 0) tile = std::min(tile, outer[d]);
      outer[d] = tile;
      to.tile[loop_[d]].of[i] = tile;
      to.place[loop_[d]].of[i] = static_cast<double>(place);
    }
    to.spatial.of[i] = loop_[level.parallel.pick(point)];
  }
  const std::int32_t cluster = space_->cluster.pick(point);
  tilings_.level[0].units.of[i] = problem_.hardware.num_pes / cluster;
  tilings_.level[1].units.of[i] = cluster;
}

void Batch::read(int i, Metrics& metrics) const {
  gym::Batch<Problem>::read(i, metrics);
  for (double* each : {&metrics.noc_avg_words_per_cycle, &metrics.ingress_avg_cycles,
                       &metrics.egress_avg_cycles, &metrics.compute_avg_cycles}) {
    *each = average(*each, metrics.steps);
  }
}

}  // namespace gym::maestro::wide
