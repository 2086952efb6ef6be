// How long unit 0 computes: its MACs, what steps take at least, and what outputs take (H5, H6).
#include <algorithm>

#include "../core/integers.hpp"
#include "traffic.hpp"

namespace gym::hierarchy {

namespace {

constexpr std::array<LoopSet, kTensors> kLoopsOf = {
    kInputSingles | set_of(kLoopP, kLoopQ, kLoopR, kLoopS), kFilterLoops, kOutputLoops};

}  // namespace

// Unit 0's boxes in all steps of an element.
Traffic::Sum Traffic::steps_of(int element) {
  Sum sum{kOutput, kFirstChild, first_units_[element]};
  set(sum, {});
  return sum;
}

std::int64_t Traffic::steps(int element) {
  const Sum sum = steps_of(element);
  std::int64_t steps = 1;
  for (const LoopId d : dims_) steps *= sum.factor[d]->count;
  return steps;
}

// Positions of the first memory's loops over dimensions of outputs.
std::int64_t Traffic::output_tiles() {
  const Sum sum = steps_of(1);
  std::int64_t tiles = 1;
  for (const LoopId d : dims_) tiles *= has(kOutputLoops, d) ? sum.factor[d]->count : 1;
  return tiles;
}

double Traffic::compute_cycles(const Nest& nest) {
  std::int64_t busy = first_macs_;
  if (accelerator_.simd_lanes > 1) {
    busy = 0;
    for (const Steps& each : kinds(steps_of(accelerator_.rest()), 0)) {
      busy += each.times * ceil_div(each.macs, accelerator_.simd_lanes);
    }
  }
  double cycles = static_cast<double>(busy);
  for (int e = 0; e < accelerator_.rest(); ++e) {
    const Element& each = accelerator_.elements[e];
    if (each.is_memory && each.memory.paces()) cycles = std::max(cycles, paced_cycles(nest, e));
  }
  for (const Element& each : accelerator_.elements) {
    if (each.memory.finish_cycles == 0) continue;
    const auto outputs = static_cast<double>(distinct(steps_of(accelerator_.rest())));
    cycles += each.memory.finish_cycles * outputs;
  }
  return cycles;
}

// Which boxes there are is independent from dimension to dimension; in some, those alone that have
// not moved.
std::vector<Traffic::Steps> Traffic::kinds(const Sum& sum, LoopSet unmoved) const {
  std::vector<Steps> steps = {{1, 1}}, more;
  for (const LoopId d : dims_) {
    more.clear();
    for (const Steps& each : steps) {
      for (const Boxes& box : sum.factor[d]->boxes) {
        if (box.shift != 0 && has(unmoved, d)) continue;
        more.push_back({each.macs * box.after, each.times * box.times});
      }
    }
    steps.swap(more);
  }
  return steps;
}

// All steps of a memory as if they loaded, less what those save whose boxes of the tensors kept
// there are the ones before (H6).
double Traffic::paced_cycles(const Nest& nest, int element) {
  const Memory& memory = accelerator_.elements[element].memory;
  const auto all_of = [&](const Steps& each, std::int64_t least) {
    const std::int64_t busy = ceil_div(each.macs, accelerator_.simd_lanes);
    return static_cast<double>(each.times) *
           static_cast<double>(std::max({busy, memory.step_cycles, least}));
  };
  Sum sum = steps_of(element);
  double cycles = 0;
  for (const Steps& each : kinds(sum, 0)) cycles += all_of(each, memory.load_cycles);
  LoopSet kept = 0;
  for (const TensorId t : {kInput, kFilter, kOutput}) {
    if (!memory.keeps[t]) continue;
    if (memory.forgets[t]) return cycles;
    kept |= kLoopsOf[t];
  }
  for (auto mover = nest.movers().rbegin(); mover != nest.movers().rend(); ++mover) {
    const auto& [dim, index, place] = *mover;
    if (place >= element) continue;
    if (has(kept, dim)) {
      set(sum, dim, {Cut::jump, index});
      if (sum.factor[dim]->size == 0) break;
      continue;
    }
    set(sum, dim, {Cut::advance, index});
    for (const Steps& each : kinds(sum, kept)) {
      cycles -= all_of(each, memory.load_cycles) - all_of(each, 0);
    }
    set(sum, dim, {Cut::jump, index});
  }
  return cycles;
}

}  // namespace gym::hierarchy
