#include "batch.hpp"

#include <algorithm>

#include "../../wide/fastest.hpp"

namespace gym::exact::wide {

Evaluate fastest() {
#ifdef __x86_64__
  return fastest_of(evaluate_avx2, evaluate_avx512);
#else
  return nullptr;
#endif
}

void Batch::open(const MapSpace& space, const Tiler& tiler) {
  gym::Batch<Problem>::open(space, [&](std::size_t d) {
    const LoopId id = tiler.loop(space.dims[d]);
    const Loop* first = problem_.loop.data();
    const Loop* found = std::find_if(first, first + problem_.loops,
                                     [id](const Loop& loop) { return loop.id == id; });
    return found == first + problem_.loops ? -1 : static_cast<int>(found - first);
  });
}

Status Batch::add(const std::int32_t* point) {
  if (space_->cluster.pick(point) > problem_.hardware.num_pes) return Status::cluster_exceeds_pes;
  gym::Batch<Problem>::add(point);
  return Status::ok;
}

}  // namespace gym::exact::wide
