#include "problem.hpp"

#include <algorithm>

#include "../timer.hpp"

namespace gym::exact::wide {

namespace {

Axis axis_of(std::int64_t window, std::int64_t stride) {
  const std::int64_t step = std::min(stride, window);
  return {real(stride), real(step), real(window - step)};
}

}  // namespace

Problem::Problem(const LoopNest& nest, const Hardware& machine, const Tiler& reader)
    : tiler(reader),
      totals(nest),
      hardware(machine),
      axes{axis_of(nest.extent[kLoopR], nest.stride_y),
           axis_of(nest.extent[kLoopS], nest.stride_x)},
      window(real(nest.extent[kLoopR] * nest.extent[kLoopS])),
      never_queues(exact::never_queues(nest, machine)) {
  for (const LoopId id : real_loops(nest)) {
    if (id == kLoopR || id == kLoopS) continue;
    const Axis* axis = id == kLoopP ? &axes[0] : id == kLoopQ ? &axes[1] : nullptr;
    loop[loops++] = {id, real(nest.extent[id]), has(kFilterLoops, id), has(kOutputLoops, id), axis};
  }
  if (nest.extent[kLoopP] == 1) still_rows *= real(nest.extent[kLoopR]);
  if (nest.extent[kLoopQ] == 1) still_rows *= real(nest.extent[kLoopS]);
}

int Problem::loop_of(Dim dim) const {
  const Loop* end = loop.data() + loops;
  const Loop* found =
      std::find_if(loop.data(), end, [&](const Loop& each) { return each.id == tiler.loop(dim); });
  return found == end ? -1 : static_cast<int>(found - loop.data());
}

}  // namespace gym::exact::wide
