// What a search for the optimum knows of its problem: the loops that mappings cut, and how.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../core/hardware.hpp"
#include "../core/map_space.hpp"
#include "loop.hpp"

namespace gym::optimum {

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

  LoopNest nest;
  Hardware hardware;
  MapSpace space;
  std::vector<Loop> loops;  // those that some mapping cuts
  std::array<std::vector<Parallel>, 2> parallel;
  std::vector<std::int32_t> clusters;  // PEs of a cluster, ascending
  Whole whole;
  std::array<double, kTensors> words;  // of the whole layer
  bool cuts_windows;                   // whether some mapping cuts R or S
  // Of each loop the one in its place if rows and columns change theirs; none if they differ.
  std::vector<int> mirror;

 private:
  Loop make_loop(LoopId id, std::size_t dim) const;
  Whole sum_whole() const;
  std::vector<int> find_mirror() const;
};

}  // namespace gym::optimum
