#include "charges.hpp"

#include <algorithm>
#include <cmath>

#include "../core/integers.hpp"

namespace gym::relaxed {

Charges::Charges(const Problem& problem, const Grid& grid, bool dividing)
    : problem_(problem), grid_(grid), dividing_(dividing) {
  for (const TensorId t : {kInput, kFilter, kOutput}) {
    sharing_[t] = grid.places(kSharing[t]);
  }
}

void Charges::set(const Box& box, const Weights& weights) {
  box_ = &box;
  weights_ = &weights;
  fresh_.clear();
  least_.clear();
  for (const hierarchy::Boundary& each : problem_.boundaries) {
    least_.push_back(least(each));
    fresh_.push_back(static_cast<double>(problem_.words[kOutput]));
    for (const int d : {kLoopC, kLoopR, kLoopS}) {
      fresh_.back() *= most_units(0, each.parent, kTensors, d);
    }
  }
}

// What they cost: of outputs, those that find an older value come back (H4).
double Charges::price(std::size_t boundary, Words words) const {
  const auto& [reads, writes, drains, fills, carried, gaps] = weights_->accesses[boundary];
  if (problem_.boundaries[boundary].tensor != kOutput) {
    return words.parent * reads + words.child * (fills + carried);
  }
  const double older = std::max(0.0, words.parent - fresh_[boundary]);
  const double back = words.parent > 0 ? words.child * older / words.parent : 0;
  return words.parent * writes + older * reads + words.child * (drains + carried) +
         back * (fills + carried);
}

double Charges::once(std::size_t boundary) const {
  return price(boundary, least_[boundary]) + weights_->accesses[boundary][5] * between({1, 1});
}

// Words of inputs in gaps, if outputs are cut into at most so many pieces along each axis (P13).
double Charges::between(const std::array<double, 2>& pieces) const {
  const auto& [extent, strides, dilations] = problem_.shape;
  double words = static_cast<double>(extent[kLoopN] * extent[kLoopG] * extent[kLoopC]);
  for (int axis = 0; axis < 2; ++axis) {
    const auto outputs = static_cast<double>(extent[axis == 0 ? kLoopP : kLoopQ]);
    const auto taps = static_cast<double>(extent[axis == 0 ? kLoopR : kLoopS]);
    const auto stride = static_cast<double>(strides[axis]);
    if (taps > stride || dilations[axis] > 1) return 0;
    words *= outputs * stride - pieces[axis] * (stride - taps);
  }
  return words - static_cast<double>(problem_.words[kInput]);
}

// Of each word one at least for every unit that works on it (P12).
Charges::Words Charges::least(const hierarchy::Boundary& boundary) const {
  const auto words = static_cast<double>(problem_.words[boundary.tensor]);
  Words found{words, words};
  for (int d = 0; d < kLoops; ++d) {
    if (!has(kLacking[boundary.tensor], static_cast<LoopId>(d))) continue;
    found.parent *= static_cast<double>(at_work(boundary, 0, d, true));
    found.child *= static_cast<double>(at_work(boundary, 0, d, false));
  }
  return found;
}

// Units of a dimension at the fan-outs from an element to the child that work at least, all or
// those that the parent serves apart (P6).
std::int64_t Charges::at_work(const hierarchy::Boundary& boundary, int first, int dim,
                              bool apart) const {
  const auto& [tensor, parent, child] = boundary;
  std::int64_t units = 1;
  for (int f = std::min(child, problem_.elements()) - 1; f >= first; --f) {
    if (problem_.is_memory(f)) continue;
    if (apart && f >= parent && problem_.together(f, tensor)) continue;
    units = nested(box_->units[f].least[dim], units);
  }
  return units;
}

// The product of the units of a dimension at some fan-outs at most; of a tensor where they share.
double Charges::most_units(int first, int end, TensorId tensor, int dim) const {
  double units = 1;
  for (int f = first; f < std::min(end, problem_.elements()); ++f) {
    if (problem_.is_memory(f)) continue;
    if (tensor != kTensors && !problem_.together(f, tensor)) continue;
    units *= static_cast<double>(box_->units[f].most[dim]);
  }
  return std::min(units, static_cast<double>(problem_.shape.extent[dim]));
}

// Words that the MACs take from a parent, or give it, at least: of a word, its units share a step
// (P7). The outermost fan-out gets some dimensions whole.
double Charges::at_steps(const hierarchy::Boundary& boundary, LoopSet whole) const {
  const auto& [tensor, parent, child] = boundary;
  const auto units = [&, parent = parent, tensor = tensor](int dim) {
    return static_cast<std::int64_t>(most_units(parent, problem_.elements(), tensor, dim));
  };
  const double macs = problem_.shape.macs_estimate();
  double words = macs;
  for (int d = 0; d < kLoops; ++d) {
    if (!has(kLacking[tensor], static_cast<LoopId>(d))) continue;
    const std::int64_t extent = problem_.shape.extent[d];
    std::int64_t steps = boxes(1, d, units(d));
    const int outermost = problem_.outermost_fanout();
    const bool shares = outermost >= parent && problem_.together(outermost, tensor);
    if (has(whole, static_cast<LoopId>(d)) && !shares) {
      steps = std::max(steps, steps_of_shares(box_->units[outermost], d, units(d)));
    }
    words *= static_cast<double>(steps) / static_cast<double>(extent);
  }
  for (int axis = 0; axis < 2 && tensor == kInput; ++axis) {
    const std::int64_t outputs = units(axis == 0 ? kLoopP : kLoopQ);
    const std::int64_t taps = units(axis == 0 ? kLoopR : kLoopS);
    words *= touched(outputs, taps, problem_.shape.stride[axis], problem_.shape.dilation[axis]) /
             static_cast<double>(outputs * taps);
  }
  double most = 1;
  for (int f = parent; f < problem_.elements(); ++f) {
    if (!problem_.is_memory(f) && problem_.together(f, tensor))
      most *= box_->units[f].sharing[tensor];
  }
  return std::max(words, macs / most);
}

// Steps of a whole dimension, if units of a fan-out have equal shares, and so many MACs a step.
std::int64_t Charges::steps_of_shares(const Units& fanout, int dim, std::int64_t macs) const {
  const std::int64_t extent = problem_.shape.extent[dim];
  if (fanout.least[dim] != fanout.most[dim]) return ceil_div(extent, macs);
  const std::int64_t share = ceil_div(extent, fanout.most[dim]);
  return extent / share * ceil_div(share, macs) + ceil_div(extent % share, macs);
}

double Charges::at_mac(LoopSet whole) const {
  const double macs = problem_.shape.macs_estimate();
  double sum = 0;
  for (std::size_t b = 0; b < problem_.boundaries.size(); ++b) {
    const hierarchy::Boundary& each = problem_.boundaries[b];
    if (each.child < problem_.elements()) continue;
    const bool latched = problem_.accelerator.latch[each.tensor];
    sum += latched ? once(b) : price(b, {at_steps(each, whole), macs});
  }
  return sum;
}

// By the tile that the loops of a memory make (P2, P6).
Charges::Counted Charges::count(std::size_t boundary, int memory) const {
  const auto [tensor, parent, _] = problem_.boundaries[boundary];
  Counted counted;
  for (int f = parent; f < memory; ++f) {
    if (!problem_.is_memory(f) && problem_.together(f, tensor)) {
      counted.sharing *= box_->units[f].sharing[tensor];
    }
  }
  for (int d = 0; d < kLoops; ++d) {
    const std::int64_t below = at_work(problem_.boundaries[boundary], memory, d, false);
    const std::int64_t apart = at_work(problem_.boundaries[boundary], memory, d, true);
    const double shared = memory > parent ? most_units(parent, memory, tensor, d) : 1;
    for (const Class& tile : grid_.classes(d)) {
      const auto chunks = [&](std::int64_t units) {
        return static_cast<double>(boxes(memory, d, ceil_div(tile.most, units)));
      };
      counted.children[d].push_back(chunks(below));
      counted.alone[d].push_back(chunks(apart));
      counted.parents[d].push_back(std::ceil(chunks(apart) / shared));
    }
  }
  return counted;
}

// Words of inputs of one batch, group and channel, and as many chunks of K (P8). `halos`: with the
// rows that tiles share, at each tile.
double Charges::windows(const Chunks& chunks, const std::array<std::int32_t, kLoops>& index,
                        bool halos) const {
  std::array<double, 2> distinct{}, fetched{}, kept{};
  bool whole = halos;
  for (int axis = 0; axis < 2; ++axis) {
    const int outputs = axis == 0 ? kLoopP : kLoopQ, taps = axis == 0 ? kLoopR : kLoopS;
    const std::int64_t stride = problem_.shape.stride[axis];
    const std::int64_t dilation = problem_.shape.dilation[axis];
    const std::int64_t extent = problem_.shape.extent[outputs];
    const std::int64_t window = problem_.shape.extent[taps];
    const double tiles = chunks[outputs][index[outputs]];
    const std::int64_t tap = grid_.classes(taps)[index[taps]].most;
    distinct[axis] = touched(extent, window, stride, dilation);
    fetched[axis] = distinct[axis];
    if (dilation == 1) {
      // Each tile of outputs brings its first rows, and for each further output so many more.
      const std::int64_t step = std::min(stride, window);
      const auto more =
          static_cast<double>(tap >= window ? step : ceil_div(window * std::min(stride, tap), tap));
      fetched[axis] = std::max(distinct[axis], static_cast<double>(extent) * more +
                                                   tiles * (static_cast<double>(window) - more));
    }
    const std::int64_t overlap = (window - 1) * dilation + 1 - stride;
    kept[axis] = tiles > 1 ? static_cast<double>(std::max<std::int64_t>(0, overlap)) : 0;
    whole = whole && tap >= window;
  }
  const double rows_left = std::max(0.0, distinct[0] - kept[0]);
  const double columns_left = std::max(0.0, distinct[1] - kept[1]);
  double words = std::min(rows_left * distinct[1], distinct[0] * columns_left);
  if (whole) words = std::max(words, std::min(rows_left * fetched[1], columns_left * fetched[0]));
  return chunks[kLoopK][index[kLoopK]] * words;
}

Charges::Words Charges::moved(std::size_t boundary, const Counted& counted,
                              const std::array<std::int32_t, kLoops>& index, bool halos) const {
  const TensorId tensor = problem_.boundaries[boundary].tensor;
  const Words& least = least_[boundary];
  if (tensor == kInput) {
    const Counts& extent = problem_.shape.extent;
    const auto planes = static_cast<double>(extent[kLoopN] * extent[kLoopG] * extent[kLoopC]);
    return {std::max(least.parent, planes * windows(counted.parents, index, halos)),
            std::max(least.child, planes * windows(counted.children, index, halos))};
  }
  const auto all = static_cast<double>(problem_.words[tensor]);
  Words words{all, all};
  double alone = all / counted.sharing;
  for (int d = 0; d < kLoops; ++d) {
    if (!has(kSharing[tensor], static_cast<LoopId>(d))) continue;
    words.parent *= counted.parents[d][index[d]];
    words.child *= counted.children[d][index[d]];
    alone *= counted.alone[d][index[d]];
  }
  return {std::max({least.parent, words.parent, alone}), std::max(least.child, words.child)};
}

// Boxes of a dimension that a chain of cuts makes which ends in tiles of so much (P2).
std::int64_t Charges::boxes(int memory, int dim, std::int64_t tile) const {
  const std::int64_t extent = problem_.shape.extent[dim];
  const std::int64_t all = ceil_div(extent, tile);
  if (memory == 0) return all;
  const std::int64_t whole = ceil_div(extent, box_->most[dim]) - 1;  // tiles of the first memory
  return std::max(all, whole * ceil_div(box_->least[dim], tile) + ceil_div(least_tail(dim), tile));
}

// The last tile of the first memory, at least.
std::int64_t Charges::least_tail(int dim) const {
  const std::int64_t extent = problem_.shape.extent[dim];
  const std::int64_t chunks = ceil_div(extent, box_->most[dim]);
  if (chunks < ceil_div(extent, box_->least[dim])) return 1;
  return extent - (chunks - 1) * box_->most[dim];
}

std::int64_t Charges::least_last(int dim, std::int64_t least) const {
  if (least == problem_.shape.extent[dim]) return least;
  return least >= box_->most[dim] ? least_tail(dim) : 1;
}

// A table of costs by the words that loops of a memory move.
template <typename Cost>
Table Charges::by_tiles(std::size_t boundary, int memory, bool halos, const Cost& cost) const {
  const TensorId tensor = problem_.boundaries[boundary].tensor;
  const Counted counted = count(boundary, memory);
  std::vector<double> costs;
  grid_.each(kSharing[tensor], [&](const auto& index) {
    costs.push_back(cost(moved(boundary, counted, index, halos), counted, index));
  });
  Table found(static_cast<std::size_t>(grid_.states()));
  for (std::size_t s = 0; s < found.size(); ++s) {
    found[s] = costs[static_cast<std::size_t>(sharing_[tensor][s])];
  }
  return found;
}

Table Charges::closed(std::size_t boundary, int memory, double resting) const {
  const double gaps = weights_->accesses[boundary][5];
  const Words& least = least_[boundary];
  return by_tiles(boundary, memory, true,
                  [&](const Words& all, const Counted& counted, const auto& index) {
                    const Words words{all.parent + resting * (least.parent - all.parent),
                                      all.child + resting * (least.child - all.child)};
                    double cost = price(boundary, words);
                    if (gaps > 0) {
                      std::array<double, 2> pieces;
                      for (int axis = 0; axis < 2; ++axis) {
                        const int d = axis == 0 ? kLoopP : kLoopQ;
                        pieces[axis] = static_cast<double>(
                            ceil_div(problem_.shape.extent[d], grid_.classes(d)[index[d]].least));
                      }
                      cost += gaps * counted.parents[kLoopK][index[kLoopK]] * between(pieces);
                    }
                    return cost;
                  });
}

// Of inputs without halos, as two memories may sweep different axes (P15). Of outputs that come
// back there are as many more, if those that move once are as many as can arrive without an older
// value: children get no fewer words than parents.
Table Charges::moved_later(std::size_t boundary, int memory, double share) const {
  const auto& [reads, writes, drains, fills, carried, gaps] = weights_->accesses[boundary];
  const Words& least = least_[boundary];
  const bool output = problem_.boundaries[boundary].tensor == kOutput;
  const bool back = least.parent >= fresh_[boundary];
  return by_tiles(boundary, memory, false,
                  [&, reads = reads, writes = writes, drains = drains, fills = fills,
                   carried = carried](const Words& all, auto&&...) {
                    const double parent = share * (all.parent - least.parent);
                    const double child = share * (all.child - least.child);
                    if (!output) return parent * reads + child * (fills + carried);
                    const double again =
                        back ? parent * reads + std::min(parent, child) * (fills + carried) : 0;
                    return parent * writes + child * (drains + carried) + again;
                  });
}

}  // namespace gym::relaxed
