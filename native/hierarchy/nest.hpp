// A mapping as one flat nest (H3.1), cut into a chain of loops for each dimension.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "../core/layer.hpp"
#include "accelerator.hpp"

namespace gym::hierarchy {

struct Shape {
  std::array<std::int64_t, kLoops> extent;
  std::array<std::int64_t, 2> stride{1, 1}, dilation{1, 1};  // of rows, of columns

  double macs_estimate() const;
};

// A loop of a mapping: temporal at a memory, spatial at a fan-out.
struct MappedLoop {
  std::int32_t element, dim, tile;
};
using Mapping = std::span<const MappedLoop>;  // in the order of the elements

// A loop that cuts something.
struct Loop {
  std::int64_t tile;
  int element;
  bool spatial;
  // Of a spatial one: the element of the next loop of the dimension that sets inputs apart (H3.6).
  int apart_from = kMaxElements + 2;
};

struct Chain {
  std::int64_t extent = 1;
  std::vector<Loop> loops;                             // outermost first
  std::array<std::uint8_t, kMaxElements + 2> above{};  // how many stand above each element

  // The largest box that an element gets.
  std::int64_t box(int element) const {
    return above[element] == 0 ? extent : loops[above[element] - 1].tile;
  }
};

// A temporal loop of the nest: a place in the chain of a dimension.
struct Mover {
  LoopId dim;
  int index;
  int element;
};

class Nest {
 public:
  explicit Nest(const Accelerator& accelerator);

  // Reads a mapping of a layer; the verdict is about its loops alone.
  Verdict read(const Shape& shape, Mapping mapping);

  const Chain& chain(int dim) const { return chains_[static_cast<std::size_t>(dim)]; }
  const std::vector<Mover>& movers() const { return movers_; }  // outermost first
  // Whether all units of all fan-outs do the same in every step.
  bool even() const { return even_; }
  // Whether several units of a fan-out between two elements are at work.
  bool spreads(int outer, int inner) const { return spatial_above_[inner] > spatial_above_[outer]; }
  // Units that the fan-outs above an element make at most; a double where there may be too many.
  std::int64_t units_above(int element) const;
  double units_estimate() const;

 private:
  Verdict add(const MappedLoop& loop, int place);
  void add_rest();
  void count_above();

  const Accelerator& accelerator_;
  std::array<Chain, kLoops> chains_;
  std::array<std::int64_t, kLoops> box_{};             // the largest, so far
  std::array<bool, kLoops> divided_{};                 // whether all boxes have that size
  std::array<std::uint64_t, kMaxElements> listed_{};   // dimensions by element
  std::vector<double> used_;                           // units by element
  std::array<int, kMaxElements + 2> spatial_above_{};  // fan-outs of several units at work
  std::vector<Mover> movers_;
  bool even_ = true;
};

}  // namespace gym::hierarchy
