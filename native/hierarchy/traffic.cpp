#include "traffic.hpp"

#include <algorithm>

#include "../core/integers.hpp"

namespace gym::hierarchy {

namespace {

constexpr LoopSet kReduced = set_of(kLoopC, kLoopR, kLoopS);

// Words that differ in this dimension alone follow each other in a memory (H6).
LoopId run_of(TensorId tensor) { return tensor == kInput ? kLoopC : kLoopK; }

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
    if (!has(kReduced, d)) outputs_ = wrap_mul(outputs_, shape.extent[d]);
  }
  for (const Boundary& each : boundaries_) {
    for (int e = each.parent + 1; e < std::min(each.child, accelerator.rest()); ++e) {
      const Element& on_the_way = accelerator.elements[e];
      const bool limited = !on_the_way.is_memory && on_the_way.fanout.bw < kUnlimited;
      if (limited) crossings_.push_back({pieces_.size(), e});
    }
    pieces_.push_back(pieces_of(each));
  }
}

// Runs of words at the MAC have one word each.
Slowdown Traffic::slowdown(std::size_t boundary) const {
  if (!options_.exposed) return {};
  const auto& [tensor, parent, child] = boundaries_[boundary];
  const std::int64_t run = child == accelerator_.mac() ? 1 : shape_.extent[run_of(tensor)];
  const auto pieces = [run](std::int64_t words) {
    return 1 / static_cast<double>(std::min(run, words));
  };
  const auto& [beat, line, gaps] = pieces_[boundary];
  return {static_cast<double>(beat) * pieces(beat), line > 0 ? pieces(line) : 0};
}

Slowdown Traffic::rounding(std::size_t boundary) const {
  const auto& [tensor, parent, child] = boundaries_[boundary];
  const auto [words, lines] = slowdown(boundary);
  if (!options_.exposed || child == accelerator_.mac()) return {0, 0};
  const std::int64_t run = shape_.extent[run_of(tensor)];
  const auto pieces = [run](std::int64_t size) {
    return static_cast<double>(ceil_div(run, size)) / static_cast<double>(run);
  };
  const auto& [beat, line, gaps] = pieces_[boundary];
  return {static_cast<double>(beat) * pieces(beat) - words, line > 0 ? pieces(line) - lines : 0};
}

Traffic::Axis Traffic::axis_of(const Shape& shape, std::size_t which, LoopId output,
                               LoopId window) {
  const std::int64_t stride = shape.stride[which], dilation = shape.dilation[which];
  return {output, window, stride, dilation, {stride, dilation}, {}};
}

Traffic::Pieces Traffic::pieces_of(const Boundary& boundary) const {
  const Memory& holder = accelerator_.elements[boundary.parent].memory;
  const Memory& memory = accelerator_.elements[holder.pool].memory;
  const std::int64_t width = holder.width[boundary.tensor];
  const bool gaps = memory.gaps && boundary.tensor == kInput;
  double bits = static_cast<double>(width);  // of the whole tensor, perhaps more than integers hold
  const auto add_axis = [&bits](std::int64_t words) { bits *= static_cast<double>(words); };
  for (const LoopId d : dims_) add_axis(is_single(boundary.tensor, d) ? shape_.extent[d] : 1);
  for (const Axis& axis : axes_) {
    if (!slides(boundary.tensor, axis.output)) continue;
    const std::int64_t outputs = shape_.extent[axis.output], taps = shape_.extent[axis.window];
    add_axis(gaps ? axis.span(outputs, taps) : axis.sliding.words({outputs, taps}));
  }
  const bool misses = bits > memory.cache.bits;
  const auto of = [&](std::int64_t bits) { return std::max<std::int64_t>(1, bits / width); };
  return {of(memory.beat_bits), misses ? of(memory.cache.line_bits) : 0, gaps};
}

void Traffic::count(const Nest& nest, bool timed, std::vector<Moved>& moved) {
  for (const LoopId d : dims_) open(nest.chain(d), d);
  for (Axis& axis : axes_) axis.known.clear();
  first_macs_ = 1;
  const Sum first_unit = steps_of(accelerator_.rest());
  for (const LoopId d : dims_) first_macs_ *= first_unit.factor[d]->size;
  moved.assign(boundaries_.size() + crossings_.size(), {});
  for (std::size_t b = 0; b < boundaries_.size(); ++b) {
    const Boundary& boundary = boundaries_[b];
    Moved& of = moved[b];
    Sum parents = sum_of(nest, boundary, kParents);
    of.words[kParents] = words(nest, boundary, parents);
    of.words[kChildren] = of.words[kParents];
    if (nest.spreads(boundary.parent, boundary.child)) {
      Sum children = sum_of(nest, boundary, kChildren);
      if (children.prefix != parents.prefix) {
        of.words[kChildren] = words(nest, boundary, children);
      }
    }
    const bool counts_fresh = boundary.tensor == kOutput && options_.psum != PartialSums::bias;
    // Each word arrives for the first time once at each parent that adds up a part of it.
    if (counts_fresh) of.fresh = outputs_ * instances(boundary.parent, kReduced);
    if (!timed) continue;
    const bool alone = !nest.spreads(0, boundary.parent);
    Sum parent = alone ? parents : sum_of(nest, boundary, kFirstParent);
    if (counts_fresh) of.fresh_first = distinct(parent);
    add_first(nest, boundary, alone, parent, of);
    add_passed(nest, boundary, pieces_[b], parent, of);
  }
  for (std::size_t k = 0; k < crossings_.size(); ++k) {
    const auto& [b, fanout] = crossings_[k];
    Moved& of = moved[boundaries_.size() + k];
    of = moved[b];
    add_crossing(nest, boundaries_[b], fanout, timed, of);
  }
}

void Traffic::open(const Chain& chain, LoopId dim) {
  factors_[dim].open(chain);
  Prefix *all = factors_[dim].none(), *first = all;
  for (int e = 0, loops = 0; e <= accelerator_.mac(); ++e) {
    for (; loops < chain.above[e]; ++loops) {
      all = factors_[dim].longer(all, Units::apart);
      first = factors_[dim].longer(first, Units::first);
    }
    all_units_[e][dim] = all;
    first_units_[e][dim] = first;
  }
}

// What the first parent and the first child move in all steps and outside the steady state (H6).
void Traffic::add_first(const Nest& nest, const Boundary& boundary, bool alone, Sum& parent,
                        Moved& moved) {
  if (nest.even()) {
    moved.words[kFirstParent] = moved.words[kParents] / nest.units_above(boundary.parent);
  } else {
    moved.words[kFirstParent] = alone ? moved.words[kParents] : words(nest, boundary, parent);
  }
  if (boundary.child == accelerator_.mac()) return;
  const bool one_child = !nest.spreads(boundary.parent, boundary.child);
  Sum child = one_child ? parent : sum_of(nest, boundary, kFirstChild);
  if (nest.even()) {
    moved.words[kFirstChild] = moved.words[kChildren] / nest.units_above(boundary.child);
  } else {
    moved.words[kFirstChild] = one_child ? moved.words[kFirstParent] : words(nest, boundary, child);
  }
  const auto add = [&](Cut cut, std::array<std::int64_t, kSides>& words) {
    // The first box is the largest.
    words[kFirstChild] = cut.kind == Cut::first ? tile_words(nest, boundary.tensor, boundary.child)
                                                : product_of(child, cut);
    words[kFirstParent] = one_child ? words[kFirstChild] : product_of(parent, cut);
  };
  const bool output = boundary.tensor == kOutput;
  add({output ? Cut::last : Cut::first}, moved.edge);
  if (output && options_.psum == PartialSums::bias) add({Cut::first}, moved.begin);
}

std::int64_t Traffic::distinct(Sum sum) {
  std::int64_t words = 1;
  for (const LoopId d : dims_) {
    if (has(kReduced, d)) continue;
    set(sum, d, {});
    words *= sum.factor[d]->size;
  }
  return in_pieces(sum, words);
}

void Traffic::add_passed(const Nest& nest, const Boundary& boundary, const Pieces& pieces,
                         Sum& parent, Moved& moved) {
  const auto of = [](std::int64_t words) { return static_cast<double>(words); };
  moved.words_passed = {of(moved.words[kFirstParent]), of(moved.edge[kFirstParent]),
                        of(moved.begin[kFirstParent]), of(moved.fresh_first)};
  if (pieces.beat > 1 || pieces.gaps) {
    moved.words_passed =
        pieces_passed(nest, boundary, pieces.beat, pieces.gaps, parent).times(of(pieces.beat));
  }
  if (pieces.line > 0) {
    moved.lines_missed = pieces_passed(nest, boundary, pieces.line, pieces.gaps, parent);
  }
}

// What the units below a fan-out take in or send up together, as if the parent stood there (H6).
void Traffic::add_crossing(const Nest& nest, const Boundary& boundary, int fanout, bool timed,
                           Moved& moved) {
  const Boundary below{boundary.tensor, fanout, boundary.child};
  Sum sum = sum_of(nest, below, timed ? kFirstParent : kParents);
  moved.words[timed ? kFirstChild : kChildren] = words(nest, below, sum);
  if (!timed || boundary.child == accelerator_.mac()) return;
  moved.begin[kFirstChild] = product_of(sum, {Cut::first});
  const bool output = boundary.tensor == kOutput;
  moved.edge[kFirstChild] = output ? product_of(sum, {Cut::last}) : moved.begin[kFirstChild];
}

Passed Traffic::pieces_passed(const Nest& nest, const Boundary& boundary, std::int64_t piece,
                              bool gaps, Sum& sum) {
  sum.piece = piece;
  sum.gaps = gaps;
  Passed passed;
  passed.all = static_cast<double>(words(nest, boundary, sum));
  if (boundary.tensor == kOutput && options_.psum != PartialSums::bias) {
    passed.fresh = static_cast<double>(distinct(sum));
  }
  if (boundary.child == accelerator_.mac()) return passed;
  passed.begin = static_cast<double>(product_of(sum, {Cut::first}));
  passed.edge =
      boundary.tensor == kOutput ? static_cast<double>(product_of(sum, {Cut::last})) : passed.begin;
  return passed;
}

// Words of a product, in pieces of the runs along the innermost dimension of the tensor's layout.
std::int64_t Traffic::in_pieces(const Sum& sum, std::int64_t words) const {
  const LoopId d = run_of(sum.tensor);
  if (sum.piece == 1 || words == 0 || shape_.extent[d] == 1) return words;
  const Factor& factor = *sum.factor[d];
  std::int64_t pieces = 0;
  for (const Boxes& box : factor.boxes) {
    if (box.shift == 0) pieces += box.times * ceil_div(box.after, sum.piece);
  }
  return words / factor.size * pieces;
}

std::int64_t Traffic::instances(int element, LoopSet dims) {
  std::int64_t count = 1;
  for (const LoopId d : dims_) {
    if (!has(dims, d)) continue;
    count *= factors_[d].find(all_units_[element][d], {Cut::first})->count;
  }
  return count;
}

bool Traffic::forgets(const Boundary& boundary) const {
  if (boundary.child == accelerator_.mac()) return !accelerator_.latch[boundary.tensor];
  return accelerator_.elements[boundary.child].memory.forgets[boundary.tensor];
}

// All words of all steps, less those that stay as each loop of the nest advances (H5).
std::int64_t Traffic::words(const Nest& nest, const Boundary& boundary, Sum& sum) {
  if (boundary.child == accelerator_.mac() && forgets(boundary) &&
      (sum.side == kChildren || !nest.spreads(boundary.parent, boundary.child))) {
    // Nobody shares: one word a MAC.
    return sum.side == kFirstParent ? first_macs_ : macs_;
  }
  std::int64_t left = product_of(sum, {});
  if (forgets(boundary)) return left;
  bool innermost = true;
  for (auto mover = nest.movers().rbegin(); mover != nest.movers().rend(); ++mover) {
    const auto& [dim, index, element] = *mover;
    if (element >= boundary.child) continue;
    const bool single = is_single(sum.tensor, dim);
    if (!single) {
      set(sum, dim, {Cut::advance, index});
      left -= product(sum, innermost || !options_.halo_of_innermost);
    }
    set(sum, dim, {Cut::jump, index});
    innermost = false;
    // Once all boxes of a dimension of the tensor move, nothing stays.
    if (single && sum.factor[dim]->size == 0) break;
  }
  return left;
}

void Traffic::set(Sum& sum, LoopId dim, Cut cut) {
  sum.factor[dim] = factors_[dim].find(sum.prefix[dim], cut);
}

void Traffic::set(Sum& sum, Cut cut) {
  for (const LoopId d : dims_) set(sum, d, cut);
}

std::int64_t Traffic::product_of(Sum& sum, Cut cut) {
  set(sum, cut);
  return product(sum);
}

std::int64_t Traffic::product(const Sum& sum, bool halo) {
  std::int64_t words = 1;
  for (const LoopId d : dims_) {
    if (slides(sum.tensor, d)) continue;
    words *= is_single(sum.tensor, d) ? sum.factor[d]->size : sum.factor[d]->count;
  }
  if (words == 0) return words;
  if (sum.tensor == kInput) {
    for (Axis& axis : axes_) {
      if (has(sliding_, axis.output)) words *= axis_words(axis, sum, halo);
    }
  }
  return sum.piece == 1 ? words : in_pieces(sum, words);
}

std::int64_t Traffic::axis_words(Axis& axis, const Sum& sum, bool halo) {
  const Known key{sum.factor[axis.output], sum.factor[axis.window], halo, sum.gaps, 0};
  for (const Known& each : axis.known) {
    if (each.outputs == key.outputs && each.taps == key.taps && each.halo == halo &&
        each.gaps == sum.gaps) {
      return each.words;
    }
  }
  axis.known.push_back(key);
  axis.known.back().words = shared(axis, *key.outputs, *key.taps, halo, sum.gaps);
  return axis.known.back().words;
}

// Words of an interval of outputs and taps, from the first to the last.
std::int64_t Traffic::Axis::span(std::int64_t outputs, std::int64_t taps) const {
  return (outputs - 1) * stride + (taps - 1) * dilation + 1;
}

std::int64_t Traffic::shared(const Axis& axis, const Factor& outputs, const Factor& taps, bool halo,
                             bool gaps) {
  std::int64_t words = 0;
  for (const Boxes& p : outputs.boxes) {
    for (const Boxes& r : taps.boxes) {
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

Traffic::Sum Traffic::sum_of(const Nest& nest, const Boundary& boundary, Side side) {
  const auto& outside = side == kParents || side == kChildren ? all_units_ : first_units_;
  Sum sum{boundary.tensor, side, outside[boundary.child]};
  const bool of_parent = side == kParents || side == kFirstParent;
  if (!of_parent || !nest.spreads(boundary.parent, boundary.child)) return sum;
  for (const LoopId d : dims_) {
    const Chain& chain = nest.chain(d);
    sum.prefix[d] = outside[boundary.parent][d];
    for (int i = chain.above[boundary.parent]; i < chain.above[boundary.child]; ++i) {
      sum.prefix[d] = factors_[d].longer(sum.prefix[d], units(chain.loops[i], d, boundary));
    }
  }
  return sum;
}

// What becomes of the units of a loop between parent and child.
Units Traffic::units(const Loop& loop, LoopId dim, const Boundary& boundary) const {
  if (!loop.spatial) return {};
  if (is_single(boundary.tensor, dim) || separate(loop, dim, boundary)) return Units::apart;
  return slides(boundary.tensor, dim) ? Units::whole : Units::first;
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
