// What a search for the optimum knows of its problem: the loops that mappings cut, and how.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "../core/hardware.hpp"
#include "../core/map_space.hpp"
#include "bounds/loop.hpp"

namespace gym::optimum {

using PerTensor = std::array<double, kTensors>;

// No loop: none is parallel, or none takes several steps.
inline constexpr int kNone = -1;

struct Problem {
  Problem(const Layer& layer, const Hardware& hardware, const MapSpace& space);

  // A loop that a level may deal to its units, or kNone, and the choice of a point that does.
  struct Parallel {
    int loop;
    std::int32_t choice;
  };
  // What the loops that no mapping cuts contribute: to the words of the tensors, and MACs.
  struct Whole {
    double input, filter, output, macs;
  };

  // Of a loop, or of a dimension of the space; kNone if no mapping cuts it.
  int index_of(LoopId id) const;
  int index_of_dim(std::size_t dim) const;
  // Words of a tile of so many indices of each loop.
  template <typename Size>
  PerTensor tile_words(const Size& size) const;

  LoopNest nest;
  Hardware hardware;
  MapSpace space;
  std::vector<Loop> loops;  // those that some mapping cuts
  std::array<std::vector<Parallel>, 2> parallel;
  std::vector<std::int32_t> clusters;  // PEs of a cluster, ascending
  Whole whole;
  PerTensor words;    // of the whole layer
  bool cuts_windows;  // whether some mapping cuts R or S
  // Of each loop the one in its place if rows and columns change theirs; none if they differ.
  std::vector<int> mirror;

 private:
  Loop make_loop(LoopId id, std::size_t dim) const;
  Whole sum_whole() const;
  std::vector<int> find_mirror() const;
};

template <typename Size>
PerTensor Problem::tile_words(const Size& size) const {
  double input = whole.input, filter = whole.filter, output = whole.output;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Loop& loop = loops[i];
    const double indices = size(i);
    if (loop.slides()) {
      const double taps = loop.window == kNone ? static_cast<double>(loop.taps) : size(loop.window);
      input *= (indices - 1) * std::min(static_cast<double>(loop.stride), taps) + taps;
    } else if (loop.input()) {
      input *= indices;
    }
    if (loop.filter()) filter *= indices;
    if (loop.output()) output *= indices;
  }
  return {input, filter, output};
}

}  // namespace gym::optimum
