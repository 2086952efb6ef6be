// What a memory gets: whether it has room for it, and how long it takes to fill and to drain.
#include <algorithm>
#include <cmath>

#include "../core/integers.hpp"
#include "program.hpp"

namespace gym::relaxed {

namespace {

// Words of tiles by the class of each dimension, whose least sizes are given.
class TileWords {
 public:
  TileWords(const hierarchy::Shape& shape, const std::array<std::vector<Class>, kLoops>& sizes) {
    for (int d = 0; d < kLoops; ++d) {
      for (const Class& each : sizes[d]) size_[d].push_back(static_cast<double>(each.least));
    }
    for (int axis = 0; axis < 2; ++axis) {
      const std::int64_t stride = shape.stride[axis], dilation = shape.dilation[axis];
      for (const Class& p : sizes[kOutputs[axis]]) {
        for (const Class& r : sizes[kWindow[axis]]) {
          touched_[axis].push_back(touched(p.least, r.least, stride, dilation));
          span_[axis].push_back(
              static_cast<double>((p.least - 1) * stride + (r.least - 1) * dilation + 1));
        }
      }
    }
  }

  double operator()(TensorId tensor, const std::array<std::int32_t, kLoops>& index) const {
    if (tensor == kInput) return planes(index) * by_axes(touched_, index);
    double words = 1;
    for (int d = 0; d < kLoops; ++d) {
      const LoopSet dims = tensor == kFilter ? kFilterLoops : kOutputLoops;
      if (has(dims, static_cast<LoopId>(d))) words *= size_[d][index[d]];
    }
    return words;
  }
  // What lies between the first and the last row and column of a tile of inputs that it leaves out.
  double in_gaps(const std::array<std::int32_t, kLoops>& index) const {
    return planes(index) * by_axes(span_, index) - (*this)(kInput, index);
  }

 private:
  static constexpr std::array kOutputs{kLoopP, kLoopQ}, kWindow{kLoopR, kLoopS};

  double planes(const std::array<std::int32_t, kLoops>& index) const {
    return size_[kLoopN][index[kLoopN]] * size_[kLoopG][index[kLoopG]] *
           size_[kLoopC][index[kLoopC]];
  }
  double by_axes(const std::array<std::vector<double>, 2>& values,
                 const std::array<std::int32_t, kLoops>& index) const {
    double product = 1;
    for (int axis = 0; axis < 2; ++axis) {
      const std::size_t taps = size_[kWindow[axis]].size();
      product *= values[axis][static_cast<std::size_t>(index[kOutputs[axis]]) * taps +
                              static_cast<std::size_t>(index[kWindow[axis]])];
    }
    return product;
  }

  std::array<std::vector<double>, kLoops> size_;
  std::array<std::vector<double>, 2> touched_, span_;  // by axis: of its outputs and taps
};

}  // namespace

// What a memory gets has room and does not take too long to fill; its boundaries open.
void Program::enter(int memory, const Weights& weights, const Limits& limits) {
  if (memory == 0) return;
  const hierarchy::Memory& own = problem_.accelerator.elements[memory].memory;
  const hierarchy::Memory& pool = problem_.accelerator.elements[own.pool].memory;
  // The first memory's tiles are what the next element gets.
  const double refill = memory == 1 ? problem_.accelerator.elements[0].memory.refill : 0;
  const double units = units_above(memory);
  const std::array<std::vector<Class>, kLoops> sizes = sizes_at(memory);
  const TileWords words_of(problem_.shape, sizes);
  std::array<std::vector<double>, kLoops> chunks, last;  // infinite: there is no such tile
  for (int d = 0; d < kLoops; ++d) {
    for (const Class& of : sizes[d]) {
      const bool fits = of.least <= std::min(of.most, problem_.tiles[memory][d]);
      const auto count = static_cast<double>(ceil_div(problem_.shape.extent[d], of.most));
      chunks[d].push_back(fits ? count : kInfinite);
      last[d].push_back(static_cast<double>(charges_.least_last(d, of.least)));
    }
  }
  Table more;
  more.reserve(static_cast<std::size_t>(grid_.states()));
  grid_.each(kAllLoops, [&](const auto& index) {
    double output_tiles = 1, all_tiles = 1, last_outputs = 1;
    for (int d = 0; d < kLoops; ++d) {
      const double count = chunks[d][index[d]];
      all_tiles *= count;
      if (!has(kOutputLoops, static_cast<LoopId>(d))) continue;
      output_tiles *= count;
      last_outputs *= last[d][index[d]];
    }
    if (all_tiles == kInfinite) {
      more.push_back(kInfinite);
      return;
    }
    bool fits = true;
    const auto& exposed = limits.exposed[memory];
    double all = 0, cycles = 0;
    if (exposed[kTensors] > 0) cycles = exposed[kTensors] * words_of.in_gaps(index);
    for (const TensorId t : {kInput, kFilter, kOutput}) {
      if (!own.keeps[t]) continue;
      const double words = words_of(t, index);
      const double bits = words * static_cast<double>(own.width[t] * own.buffers);
      fits = fits && bits <= pool.capacity[t];
      all += bits;
      if (t != kOutput) cycles += words * exposed[t];
    }
    const double again = refill * (output_tiles - 1);
    const double steps = std::ceil(all_tiles / units);
    const double drain = last_outputs * exposed[kOutput];
    fits = fits && all <= pool.capacity[kTensors] &&
           cycles * (1 + again) + drain <= limits.exposed_cycles &&
           steps * static_cast<double>(own.step_cycles) <= limits.cycles;
    const double edges =
        cycles * (weights.fills[memory] + weights.refill * again) + drain * weights.drains[memory];
    more.push_back(fits ? edges + steps * weights.steps[memory] : kInfinite);
  });
  begin();
  Tables found;
  Open opened;
  for (std::size_t b = 0; b < boundaries(); ++b) {
    if (problem_.boundaries[b].child == memory) opened.whole |= Bits{1} << b;
  }
  for (auto& [open, costs] : tables_) {
    for (std::size_t s = 0; s < more.size(); ++s) costs.cost[s] += more[s];
    lower(found, both(open, opened), std::move(costs));
  }
  tables_ = std::move(found);
  end(Stage::room, memory);
}

// Tiles of each class that a memory may get: all units inside work (P6), and what the first
// memory's loops leave is of the box. There are none if the least is above the most.
std::array<std::vector<Class>, kLoops> Program::sizes_at(int memory) const {
  std::array<std::vector<Class>, kLoops> found;
  for (int d = 0; d < kLoops; ++d) {
    std::int64_t least = 1;
    for (int f = problem_.elements() - 1; f > memory; --f) {
      if (!problem_.is_memory(f)) least = nested(box_->units[f].least[d], least);
    }
    if (memory == 1) least = std::max(least, box_->least[d]);
    for (const Class& of : grid_.classes(d)) {
      found[d].push_back({std::max(of.least, least), std::min(of.most, box_->most[d])});
    }
  }
  return found;
}

// Units of the fan-outs outside of an element, at most.
double Program::units_above(int element) const {
  double units = 1;
  for (int f = 0; f < element; ++f) {
    if (problem_.is_memory(f)) continue;
    double most = 1;
    for (const std::int64_t each : box_->units[f].most) most *= static_cast<double>(each);
    units *= std::min(most, static_cast<double>(problem_.accelerator.elements[f].fanout.size));
  }
  return units;
}

}  // namespace gym::relaxed
