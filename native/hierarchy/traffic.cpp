#include "traffic.hpp"

#include <algorithm>

#include "../core/integers.hpp"

namespace gym::hierarchy {

namespace {

constexpr LoopSet kSliding = set_of(kLoopP, kLoopQ, kLoopR, kLoopS);

// The dimensions that are axes of a tensor by themselves; the input's others are pairs.
constexpr std::array<LoopSet, kTensors> kSingles = {kInputSingles, kFilterLoops, kOutputLoops};

bool slides(TensorId tensor, int dim) {
  return tensor == kInput && has(kSliding, static_cast<LoopId>(dim));
}

bool is_single(TensorId tensor, int dim) { return has(kSingles[tensor], static_cast<LoopId>(dim)); }

std::vector<Boundary> boundaries_of(const Accelerator& accelerator) {
  std::vector<Boundary> found;
  for (int t = 0; t < kTensors; ++t) {
    int parent = -1;
    for (int e = 0; e <= accelerator.rest(); ++e) {
      const bool memory = e < accelerator.rest() && accelerator.elements[e].is_memory;
      const bool holds = memory && accelerator.elements[e].memory.keeps[t];
      if (!holds && e < accelerator.rest()) continue;
      const int holder = holds ? e : accelerator.mac();
      if (parent >= 0) found.push_back({static_cast<TensorId>(t), parent, holder});
      parent = holder;
    }
  }
  return found;
}

}  // namespace

Traffic::Traffic(const Shape& shape, const Accelerator& accelerator, const Options& options)
    : shape_(shape),
      accelerator_(accelerator),
      options_(options),
      boundaries_(boundaries_of(accelerator)),
      axes_{Axis{kLoopP, kLoopR, {shape.stride[0], shape.dilation[0]}, {}, {}},
            Axis{kLoopQ, kLoopS, {shape.stride[1], shape.dilation[1]}, {}, {}}} {
  for (int d = 0; d < kLoops; ++d) {
    if (shape.extent[d] > 1) dims_.push_back(static_cast<LoopId>(d));
  }
}

void Traffic::count(const Nest& nest, Detail detail, std::vector<Moved>& moved) {
  for (int d = 0; d < kLoops; ++d) {
    factors_[d].open(nest.chain(d), has(kSliding, static_cast<LoopId>(d)));
  }
  for (Axis& axis : axes_) {
    axis.keys.clear();
    axis.sums.clear();
  }
  moved.assign(boundaries_.size(), {});
  for (std::size_t b = 0; b < boundaries_.size(); ++b) {
    const Boundary& boundary = boundaries_[b];
    for (const Side side : {kParents, kChildren}) {
      moved[b].words[side] = words(nest, boundary, sum_of(nest, boundary, side));
    }
    if (detail == Detail::time) add_first(nest, boundary, moved[b]);
    if (boundary.tensor == kOutput) add_fresh(nest, boundary, detail, moved[b]);
  }
}

// What the first instance and unit move, in all steps and outside the steady state (H6).
void Traffic::add_first(const Nest& nest, const Boundary& boundary, Moved& moved) {
  const auto one_of = [&](Side all, int element) {
    return moved.words[all] / nest.units_above(element);
  };
  const bool output = boundary.tensor == kOutput;
  Cuts begin, end;
  begin.fill({Cut::first});
  end.fill({Cut::last});
  for (const Side side : {kFirstParent, kFirstChild}) {
    const Sum sum = sum_of(nest, boundary, side);
    if (nest.even()) {
      moved.words[side] = side == kFirstParent ? one_of(kParents, boundary.parent)
                                               : one_of(kChildren, boundary.child);
    } else {
      moved.words[side] = words(nest, boundary, sum);
    }
    moved.begin[side] = product(sum, begin);
    moved.edge[side] = output ? product(sum, end) : moved.begin[side];
  }
}

// Each word arrives for the first time once at each parent that adds up a part of it.
void Traffic::add_fresh(const Nest& nest, const Boundary& boundary, Detail detail, Moved& moved) {
  if (options_.psum == PartialSums::bias) return;
  constexpr LoopSet kReduced = set_of(kLoopC, kLoopR, kLoopS);
  const auto distinct = [&](Side side) {
    const Sum sum = sum_of(nest, boundary, side);
    std::int64_t words = 1;
    for (const LoopId d : dims_) {
      if (has(kReduced, d)) continue;
      const Factors& factors = factors_[d];
      words *= factors[factors_[d].find(sum.above[d], {}, sum.views[d])].size;
    }
    return words;
  };
  moved.fresh = distinct(kParents) * instances(nest, boundary.parent, kReduced);
  if (detail == Detail::time) moved.fresh_first = distinct(kFirstParent);
}

std::int64_t Traffic::instances(const Nest& nest, int element, LoopSet dims) {
  std::int64_t count = 1;
  for (const LoopId d : dims_) {
    if (!has(dims, d)) continue;
    const int above = nest.chain(d).above(element);
    count *= factors_[d][factors_[d].find(above, {Cut::first}, {~0u >> 8, 0})].count;
  }
  return count;
}

bool Traffic::forgets(const Boundary& boundary) const {
  if (boundary.child == accelerator_.mac()) {
    return !options_.latch && !accelerator_.latch[boundary.tensor];
  }
  return accelerator_.elements[boundary.child].memory.forgets[boundary.tensor];
}

// All words of all steps, less those that stay as each loop of the nest advances (H5).
std::int64_t Traffic::words(const Nest& nest, const Boundary& boundary, const Sum& sum) {
  Cuts cuts{};
  std::int64_t left = product(sum, cuts);
  if (forgets(boundary)) return left;
  for (const LoopId d : dims_) cuts[d] = {Cut::jump, sum.above[d]};
  bool innermost = true;
  for (auto mover = nest.movers().rbegin(); mover != nest.movers().rend(); ++mover) {
    if (mover->element >= boundary.child) continue;
    const LoopId dim = mover->dim;
    if (!is_single(sum.tensor, dim)) {
      cuts[dim] = {Cut::advance, mover->index};
      left -= product(sum, cuts, innermost || options_.halo == Halo::always);
    }
    cuts[dim] = {Cut::jump, mover->index};
    innermost = false;
    // Once all boxes of a dimension of the tensor move, nothing stays.
    if (is_single(sum.tensor, dim) &&
        factors_[dim][factors_[dim].find(sum.above[dim], cuts[dim], sum.views[dim])].size == 0) {
      break;
    }
  }
  return left;
}

std::int64_t Traffic::product(const Sum& sum, const Cuts& cuts, bool halo) {
  std::int64_t words = 1;
  for (const LoopId d : dims_) {
    if (slides(sum.tensor, d)) continue;
    const Factor& factor = factors_[d][factors_[d].find(sum.above[d], cuts[d], sum.views[d])];
    words *= is_single(sum.tensor, d) ? factor.size : factor.count;
    if (words == 0) return 0;
  }
  if (sum.tensor != kInput) return words;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    words *= axis_words(axis, sum, cuts, halo);
  }
  return words;
}

std::int64_t Traffic::axis_words(std::size_t axis, const Sum& sum, const Cuts& cuts, bool halo) {
  const LoopId output = axes_[axis].output, window = axes_[axis].window;
  if (shape_.extent[output] == 1 && shape_.extent[window] == 1) return 1;
  const auto find = [&](LoopId d) { return factors_[d].find(sum.above[d], cuts[d], sum.views[d]); };
  const int outputs = find(output), taps = find(window);
  Axis& of = axes_[axis];
  const std::uint64_t key = static_cast<std::uint64_t>(outputs) << 32 |
                            static_cast<std::uint64_t>(taps) << 1 | (halo ? 1 : 0);
  const auto known = std::find(of.keys.begin(), of.keys.end(), key);
  if (known != of.keys.end()) return of.sums[static_cast<std::size_t>(known - of.keys.begin())];
  of.keys.push_back(key);
  of.sums.push_back(shared(of, outputs, taps, halo));
  return of.sums.back();
}

std::int64_t Traffic::shared(const Axis& axis, int outputs, int taps, bool halo) const {
  const Factors &of_output = factors_[axis.output], &of_window = factors_[axis.window];
  std::int64_t words = 0;
  for (const Boxes& p : of_output.boxes(of_output[outputs])) {
    for (const Boxes& r : of_window.boxes(of_window[taps])) {
      const std::int64_t times = p.times * r.times;
      if (p.shift == 0 && r.shift == 0) {
        words += times * axis.sliding.words({p.after, r.after});
      } else if (halo) {
        words += times *
                 axis.sliding.overlap({p.before, r.before}, {p.after, r.after}, p.shift, r.shift);
      }
    }
  }
  return words;
}

Traffic::Sum Traffic::sum_of(const Nest& nest, const Boundary& boundary, Side side) const {
  Sum sum;
  sum.tensor = boundary.tensor;
  for (const LoopId d : dims_) {
    sum.above[d] = nest.chain(d).above(boundary.child);
    sum.views[d] = view(nest.chain(d), d, boundary, side);
  }
  return sum;
}

View Traffic::view(const Chain& chain, int dim, const Boundary& boundary, Side side) const {
  View view;
  for (const Loop& loop : chain.loops) {
    if (loop.element >= boundary.child) break;
    if (!loop.spatial) continue;
    const std::uint32_t one = 1u << loop.number;
    if (side == kFirstChild) continue;
    if (side == kChildren) {
      view.apart |= one;
    } else if (loop.element < boundary.parent) {
      view.apart |= side == kParents ? one : 0;
    } else if (is_single(boundary.tensor, dim) || separate(loop, dim, boundary)) {
      view.apart |= one;
    } else if (slides(boundary.tensor, dim)) {
      view.whole |= one;
    }
  }
  return view;
}

// Whether the units below one parent share no words (H3.3, H3.6).
bool Traffic::separate(const Loop& loop, int dim, const Boundary& boundary) const {
  if (!accelerator_.elements[loop.element].fanout.together[boundary.tensor]) return true;
  if (!slides(boundary.tensor, dim)) return false;
  return loop.apart_from < boundary.child || options_.share == Share::tiles;
}

std::int64_t Traffic::compute_cycles(const Nest& nest) {
  const std::int64_t lanes = accelerator_.simd_lanes;
  std::array<int, kLoops> found{};
  std::int64_t cycles = 1;
  for (const LoopId d : dims_) {
    found[d] = factors_[d].find(nest.chain(d).above(accelerator_.rest()), {}, {});
    cycles *= factors_[d][found[d]].size;
  }
  if (lanes == 1) return cycles;
  // Kinds of innermost steps: which boxes there are is independent from dimension to dimension.
  std::vector<Boxes> steps = {{1, 1, 0, 1}};
  Factors listing;
  for (const LoopId d : dims_) {
    listing.open(nest.chain(d), true);
    const int number = listing.find(nest.chain(d).above(accelerator_.rest()), {}, {});
    std::vector<Boxes> more;
    for (const Boxes& step : steps) {
      for (const Boxes& box : listing.boxes(listing[number])) {
        more.push_back({0, step.after * box.after, 0, step.times * box.times});
      }
    }
    steps = std::move(more);
  }
  cycles = 0;
  for (const Boxes& step : steps) cycles += step.times * ceil_div(step.after, lanes);
  return cycles;
}

std::int64_t Traffic::macs() const {
  std::int64_t macs = 1;
  for (const std::int64_t each : shape_.extent) macs *= each;
  return macs;
}

std::int64_t Traffic::tile_words(const Nest& nest, TensorId tensor, int element) const {
  const auto box = [&](LoopId d) { return nest.chain(d).box(element); };
  std::int64_t words = 1;
  for (const LoopId d : dims_) words *= is_single(tensor, d) ? box(d) : 1;
  if (tensor != kInput) return words;
  for (const Axis& axis : axes_) words *= axis.sliding.words({box(axis.output), box(axis.window)});
  return words;
}

}  // namespace gym::hierarchy
