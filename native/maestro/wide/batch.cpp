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
  if (!works() || !problem_.fits || problem_.open == 0) return false;
  if (space.dims.size() != static_cast<std::size_t>(problem_.loops)) return false;
  for (std::size_t d = 0; d < space.dims.size(); ++d) {
    const int i = loop_of(space.dims[d]);
    if (i < 0 || std::count(space.dims.begin(), space.dims.end(), space.dims[d]) > 1) return false;
    if (i < problem_.open) continue;
    const Loop& loop = problem_.loop[i];
    const double outputs = loop.extent - (loop.window - 1);
    if (!is_whole(space.levels[0], d, outputs) || !is_whole(space.levels[1], d, outputs)) {
      return false;
    }
  }
  open(space, [&](std::size_t d) { return loop_of(space.dims[d]); });
  return true;
}

int Batch::loop_of(Dim dim) const {
  for (int i = 0; i < problem_.loops; ++i) {
    const Loop& loop = problem_.loop[i];
    if (dim == (loop.slides ? output_axis(loop.dim) : loop.dim)) return i;
  }
  return -1;
}

void Batch::read(int i, Metrics& metrics) const {
  gym::Batch<Problem>::read(i, metrics);
  for (double* each : {&metrics.noc_avg_words_per_cycle, &metrics.ingress_avg_cycles,
                       &metrics.egress_avg_cycles, &metrics.compute_avg_cycles}) {
    *each = average(*each, metrics.steps);
  }
}

}  // namespace gym::maestro::wide
