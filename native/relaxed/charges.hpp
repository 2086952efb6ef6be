// What the words of a boundary cost at least, by the tiles that close it (P1 to P9, P12, P13).
#pragma once

#include "problem.hpp"
#include "tables.hpp"

namespace gym::relaxed {

class Charges {
 public:
  // `dividing`: tiles divide what they cut, so that loops move everywhere.
  Charges(const Problem& problem, const Grid& grid, bool dividing);

  void set(const Box& box, const Weights& weights);

  // The share of a tensor's words that loops of a memory leave where they are, at most (P9).
  double resting(TensorId tensor, int memory) const;
  // Of a boundary that is open below the loops of a memory which move its tensor, by the tiles that
  // they make, if such a share moves once.
  Table closed(std::size_t boundary, int memory, double resting) const;
  // What a share of the words costs that these loops move, and none inside, beyond what it costs
  // that they move once.
  Table moved_later(std::size_t boundary, int memory, double share) const;
  // Of one that no loop closes: its words move once to each unit.
  double once(std::size_t boundary) const;
  // The last tile of a memory that gets so much at least.
  std::int64_t least_last(int dim, std::int64_t least) const;
  // Of those whose child is the MAC, if the outermost fan-out gets some dimensions whole (P7).
  double at_mac(LoopSet whole) const;

 private:
  struct Words {
    double parent, child;
  };
  using Chunks = std::array<std::vector<double>, kLoops>;  // of a dimension, by class

  // Chunks of each dimension that parents and children get, those of parents where no unit shares,
  // and how many units share a word at most.
  struct Counted {
    Chunks parents, children, alone;
    double sharing = 1;
  };

  template <typename Cost>
  Table by_tiles(std::size_t boundary, int memory, bool halos, const Cost& cost) const;
  double price(std::size_t boundary, Words words) const;
  Words moved(std::size_t boundary, const Counted& counted,
              const std::array<std::int32_t, kLoops>& index, bool halos) const;
  Counted count(std::size_t boundary, int memory) const;
  double between(const std::array<double, 2>& pieces) const;
  double windows(const Chunks& chunks, const std::array<std::int32_t, kLoops>& index,
                 bool halos) const;
  double share_resting(int memory, int dim, const Class& tile) const;
  std::int64_t least_tail(int dim) const;
  bool cuts_whole(int dim, int first) const;
  std::int64_t boxes(int memory, int dim, std::int64_t tile) const;
  int cuts(int memory, int dim) const;
  Words least(const hierarchy::Boundary& boundary) const;
  std::int64_t at_work(const hierarchy::Boundary& boundary, int first, int dim, bool apart) const;
  double most_units(int first, int end, TensorId tensor, int dim) const;
  double at_steps(const hierarchy::Boundary& boundary, LoopSet whole) const;
  std::int64_t steps_of_shares(const Units& fanout, int dim, std::int64_t macs) const;

  const Problem& problem_;
  const Grid& grid_;
  bool dividing_;
  const Box* box_ = nullptr;
  const Weights* weights_ = nullptr;
  // By tensor: the place of a state among the dimensions that share.
  std::array<std::vector<std::int32_t>, kTensors> sharing_;
  std::vector<Words> least_;   // by boundary
  std::vector<double> fresh_;  // by boundary: arrivals of outputs without an older value, at most
};

}  // namespace gym::relaxed
