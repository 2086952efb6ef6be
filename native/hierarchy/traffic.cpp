#include "traffic.hpp"

#include <algorithm>

#include "../core/integers.hpp"

namespace gym::hierarchy {

namespace {

constexpr LoopSet kReduced = set_of(kLoopC, kLoopR, kLoopS);

// The dimensions of pair axes. With one tap and no stride, or one output and no dilation, the other
// dimension is an axis by itself.
LoopSet sliding_loops(const Shape& shape) {
  LoopSet loops = 0;
  const auto add = [&](LoopId output, LoopId window, std::size_t which) {
    const bool one_tap = shape.extent[window] == 1, one_output = shape.extent[output] == 1;
    const bool alone = (one_tap && one_output) || (one_tap && shape.stride[which] == 1) ||
                       (one_output && shape.dilation[which] == 1);
    if (!alone) loops |= set_of(output, window);
  };
  add(kLoopP, kLoopR, 0);
  add(kLoopQ, kLoopS, 1);
  return loops;
}

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
      sliding_(sliding_loops(shape)),
      singles_{(kInputSingles | set_of(kLoopP, kLoopQ, kLoopR, kLoopS)) & ~sliding_, kFilterLoops,
               kOutputLoops},
      axes_{axis_of(shape, 0, kLoopP, kLoopR), axis_of(shape, 1, kLoopQ, kLoopS)} {
  for (const LoopId d : {kLoopN, kLoopG, kLoopK, kLoopC, kLoopP, kLoopQ, kLoopR, kLoopS}) {
    if (shape.extent[d] > 1 || has(sliding_, d)) dims_.push_back(d);
    macs_ = wrap_mul(macs_, shape.extent[d]);
  }
  listed_ = accelerator_.simd_lanes > 1;
  for (const Element& each : accelerator_.elements) {
    listed_ = listed_ || (each.is_memory && each.memory.paces());
  }
  for (const Boundary& each : boundaries_) {
    pieces_.push_back(pieces_of(each));
    listed_ = listed_ || pieces_.back().beat > 1 || pieces_.back().line > 0;
  }
}

Traffic::Axis Traffic::axis_of(const Shape& shape, std::size_t which, LoopId output,
                               LoopId window) {
  const std::int64_t stride = shape.stride[which], dilation = shape.dilation[which];
  return {output, window, stride, dilation, {stride, dilation}, {}, {}};
}

Traffic::Pieces Traffic::pieces_of(const Boundary& boundary) const {
  const Memory& holder = accelerator_.elements[boundary.parent].memory;
  const Memory& memory = accelerator_.elements[holder.pool].memory;
  const std::int64_t width = holder.width[boundary.tensor];
  const bool gaps = memory.gaps && boundary.tensor == kInput;
  std::int64_t words = 1;
  for (const LoopId d : dims_) words *= is_single(boundary.tensor, d) ? shape_.extent[d] : 1;
  for (const Axis& axis : axes_) {
    if (!slides(boundary.tensor, axis.output)) continue;
    const std::int64_t outputs = shape_.extent[axis.output], taps = shape_.extent[axis.window];
    words *= gaps ? axis.span(outputs, taps) : axis.sliding.words({outputs, taps});
  }
  const bool misses = static_cast<double>(words) * static_cast<double>(width) > memory.cache.bits;
  const auto of = [&](std::int64_t bits) { return std::max<std::int64_t>(1, bits / width); };
  return {of(memory.beat_bits), misses ? of(memory.cache.line_bits) : 0, gaps};
}

void Traffic::count(const Nest& nest, bool timed, std::vector<Moved>& moved) {
  for (int d = 0; d < kLoops; ++d) {
    factors_[d].open(nest.chain(d), listed_ || has(sliding_, static_cast<LoopId>(d)));
  }
  for (Axis& axis : axes_) {
    axis.keys.clear();
    axis.sums.clear();
  }
  moved.assign(boundaries_.size(), {});
  for (std::size_t b = 0; b < boundaries_.size(); ++b) {
    const Boundary& boundary = boundaries_[b];
    Sum parents = sum_of(nest, boundary, kParents);
    moved[b].words[kParents] = words(nest, boundary, parents);
    if (timed) add_first(nest, boundary, kParents, parents, moved[b]);
    if (boundary.child == accelerator_.mac() && forgets(boundary)) {
      // One word a MAC.
      moved[b].words[kChildren] = macs_;
    } else {
      Sum children = sum_of(nest, boundary, kChildren);
      moved[b].words[kChildren] = children.views == parents.views ? moved[b].words[kParents]
                                                                  : words(nest, boundary, children);
      if (timed && boundary.child != accelerator_.mac()) {
        add_first(nest, boundary, kChildren, children, moved[b]);
      }
    }
    if (boundary.tensor == kOutput) add_fresh(nest, boundary, timed, moved[b]);
    if (timed) add_passed(nest, boundary, pieces_[b], moved[b]);
  }
}

// What the first of the parents, or of the children, moves in all steps and outside the steady
// state (H6).
void Traffic::add_first(const Nest& nest, const Boundary& boundary, Side all, const Sum& of_all,
                        Moved& moved) {
  const Side first = all == kParents ? kFirstParent : kFirstChild;
  const int element = all == kParents ? boundary.parent : boundary.child;
  Sum sum = sum_of(nest, boundary, first);
  if (nest.even() || sum.views == of_all.views) {
    moved.words[first] = moved.words[all] / (nest.even() ? nest.units_above(element) : 1);
  } else {
    moved.words[first] = words(nest, boundary, sum);
  }
  if (boundary.child == accelerator_.mac()) return;
  const bool output = boundary.tensor == kOutput;
  set(nest, sum, {output ? Cut::last : Cut::first});
  moved.edge[first] = product(sum);
  if (!output || options_.psum != PartialSums::bias) return;
  set(nest, sum, {Cut::first});
  moved.begin[first] = product(sum);
}

// Each word arrives for the first time once at each parent that adds up a part of it.
void Traffic::add_fresh(const Nest& nest, const Boundary& boundary, bool timed, Moved& moved) {
  if (options_.psum == PartialSums::bias) return;
  moved.fresh =
      distinct(nest, sum_of(nest, boundary, kParents)) * instances(nest, boundary.parent, kReduced);
  if (timed) moved.fresh_first = distinct(nest, sum_of(nest, boundary, kFirstParent));
}

std::int64_t Traffic::distinct(const Nest& nest, Sum sum) {
  std::int64_t words = 1;
  for (const LoopId d : dims_) {
    if (has(kReduced, d)) continue;
    set(nest, sum, d, {});
    words *= factors_[d][sum.factor[d]].size;
  }
  return in_pieces(sum, words);
}

void Traffic::add_passed(const Nest& nest, const Boundary& boundary, const Pieces& pieces,
                         Moved& moved) {
  const auto of = [](std::int64_t words) { return static_cast<double>(words); };
  moved.words_passed = {of(moved.words[kFirstParent]), of(moved.edge[kFirstParent]),
                        of(moved.begin[kFirstParent]), of(moved.fresh_first)};
  if (pieces.beat > 1 || pieces.gaps) {
    moved.words_passed =
        pieces_passed(nest, boundary, pieces.beat, pieces.gaps).times(of(pieces.beat));
  }
  if (pieces.line > 0) {
    moved.lines_missed = pieces_passed(nest, boundary, pieces.line, pieces.gaps);
  }
}

Passed Traffic::pieces_passed(const Nest& nest, const Boundary& boundary, std::int64_t piece,
                              bool gaps) {
  Sum sum = sum_of(nest, boundary, kFirstParent);
  sum.piece = piece;
  sum.gaps = gaps;
  Passed passed;
  passed.all = static_cast<double>(words(nest, boundary, sum));
  if (boundary.tensor == kOutput && options_.psum != PartialSums::bias) {
    passed.fresh = static_cast<double>(distinct(nest, sum));
  }
  if (boundary.child == accelerator_.mac()) return passed;
  set(nest, sum, {Cut::first});
  passed.begin = static_cast<double>(product(sum));
  if (boundary.tensor == kOutput) set(nest, sum, {Cut::last});
  passed.edge = static_cast<double>(product(sum));
  return passed;
}

// Words of a product, in pieces of the runs along the innermost dimension of the tensor's layout.
std::int64_t Traffic::in_pieces(const Sum& sum, std::int64_t words) const {
  const LoopId d = sum.tensor == kInput ? kLoopC : kLoopK;
  if (sum.piece == 1 || words == 0 || shape_.extent[d] == 1) return words;
  const Factor& factor = factors_[d][sum.factor[d]];
  std::int64_t pieces = 0;
  for (const Boxes& box : factors_[d].boxes(factor)) {
    if (box.shift == 0) pieces += box.times * ceil_div(box.after, sum.piece);
  }
  return words / factor.size * pieces;
}

std::int64_t Traffic::instances(const Nest& nest, int element, LoopSet dims) {
  constexpr View kApart = {(1u << kMaxFanouts) - 1, 0};
  std::int64_t count = 1;
  for (const LoopId d : dims_) {
    if (!has(dims, d) || nest.chain(d).spatial == 0) continue;
    count *=
        factors_[d][factors_[d].find(nest.chain(d).above[element], {Cut::first}, kApart)].count;
  }
  return count;
}

bool Traffic::forgets(const Boundary& boundary) const {
  if (boundary.child == accelerator_.mac()) return !accelerator_.latch[boundary.tensor];
  return accelerator_.elements[boundary.child].memory.forgets[boundary.tensor];
}

// All words of all steps, less those that stay as each loop of the nest advances (H5).
std::int64_t Traffic::words(const Nest& nest, const Boundary& boundary, Sum& sum) {
  set(nest, sum, {});
  std::int64_t left = product(sum);
  if (forgets(boundary)) return left;
  bool innermost = true;
  for (auto mover = nest.movers().rbegin(); mover != nest.movers().rend(); ++mover) {
    const auto& [dim, index, element] = *mover;
    if (element >= boundary.child) continue;
    const bool single = is_single(sum.tensor, dim);
    if (!single) {
      set(nest, sum, dim, {Cut::advance, index});
      left -= product(sum, innermost || !options_.halo_of_innermost);
    }
    set(nest, sum, dim, {Cut::jump, index});
    innermost = false;
    // Once all boxes of a dimension of the tensor move, nothing stays.
    if (single && factors_[dim][sum.factor[dim]].size == 0) break;
  }
  return left;
}

void Traffic::set(const Nest& nest, Sum& sum, LoopId dim, Cut cut) {
  const int above = nest.chain(dim).above[sum.child];
  // What nothing cuts is the same in all steps.
  sum.factor[dim] = factors_[dim].find(above, above > 0 ? cut : Cut{}, sum.views[dim]);
}

void Traffic::set(const Nest& nest, Sum& sum, Cut cut) {
  for (const LoopId d : dims_) set(nest, sum, d, cut);
}

std::int64_t Traffic::product(const Sum& sum, bool halo) {
  std::int64_t words = 1;
  for (const LoopId d : dims_) {
    if (slides(sum.tensor, d)) continue;
    const Factor& factor = factors_[d][sum.factor[d]];
    words *= is_single(sum.tensor, d) ? factor.size : factor.count;
  }
  if (words == 0) return words;
  if (sum.tensor == kInput) {
    for (Axis& axis : axes_) {
      if (has(sliding_, axis.output)) words *= axis_words(axis, sum, halo);
    }
  }
  return in_pieces(sum, words);
}

std::int64_t Traffic::axis_words(Axis& axis, const Sum& sum, bool halo) {
  const int outputs = sum.factor[axis.output], taps = sum.factor[axis.window];
  const std::uint64_t key = static_cast<std::uint64_t>(outputs) << 32 |
                            static_cast<std::uint64_t>(taps) << 2 | (halo ? 2 : 0) |
                            (sum.gaps ? 1 : 0);
  const auto known = std::find(axis.keys.begin(), axis.keys.end(), key);
  if (known != axis.keys.end()) {
    return axis.sums[static_cast<std::size_t>(known - axis.keys.begin())];
  }
  axis.keys.push_back(key);
  axis.sums.push_back(shared(axis, outputs, taps, halo, sum.gaps));
  return axis.sums.back();
}

// Words of an interval of outputs and taps, from the first to the last.
std::int64_t Traffic::Axis::span(std::int64_t outputs, std::int64_t taps) const {
  return (outputs - 1) * stride + (taps - 1) * dilation + 1;
}

std::int64_t Traffic::shared(const Axis& axis, int outputs, int taps, bool halo, bool gaps) const {
  const Factors &of_output = factors_[axis.output], &of_window = factors_[axis.window];
  std::int64_t words = 0;
  for (const Boxes& p : of_output.boxes(of_output[outputs])) {
    for (const Boxes& r : of_window.boxes(of_window[taps])) {
      const std::int64_t times = p.times * r.times;
      const bool moved = p.shift != 0 || r.shift != 0;
      if (gaps && (halo || !moved)) {
        const std::int64_t shift = p.shift * axis.stride + r.shift * axis.dilation;
        const std::int64_t end =
            std::min(axis.span(p.before, r.before), shift + axis.span(p.after, r.after));
        words += times * std::max<std::int64_t>(0, end - std::max<std::int64_t>(0, shift));
      } else if (!moved) {
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
  Sum sum{boundary.tensor, boundary.child, {}, {}};
  if (side == kFirstChild) return sum;
  for (const LoopId d : dims_) {
    if (nest.chain(d).spatial > 0) sum.views[d] = view(nest.chain(d), d, boundary, side);
  }
  return sum;
}

View Traffic::view(const Chain& chain, LoopId dim, const Boundary& boundary, Side side) const {
  View view;
  for (const Loop& loop : chain.loops) {
    if (loop.element >= boundary.child) break;
    if (!loop.spatial) continue;
    const std::uint32_t one = 1u << loop.number;
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
bool Traffic::separate(const Loop& loop, LoopId dim, const Boundary& boundary) const {
  if (!accelerator_.elements[loop.element].fanout.together[boundary.tensor]) return true;
  if (!slides(boundary.tensor, dim)) return false;
  return loop.apart_from < boundary.child || options_.share_tiles;
}

std::int64_t Traffic::tile_words(const Nest& nest, TensorId tensor, int element) const {
  const auto box = [&](LoopId d) { return nest.chain(d).box(element); };
  std::int64_t words = 1;
  for (const LoopId d : dims_) words *= is_single(tensor, d) ? box(d) : 1;
  if (tensor != kInput) return words;
  for (const Axis& axis : axes_) {
    if (!has(sliding_, axis.output)) continue;
    words *= axis.sliding.words({box(axis.output), box(axis.window)});
  }
  return words;
}

}  // namespace gym::hierarchy
