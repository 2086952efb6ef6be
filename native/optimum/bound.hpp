// Lower bounds of what the mappings of a box cost (docs/optimum.md, 5 to 7).
#pragma once

#include <array>
#include <vector>

#include "box.hpp"
#include "traffic.hpp"

namespace gym::optimum {

// What is minimised: the product of some costs.
struct Objective {
  bool latency, energy, area;
};

// The bounds of one box, and of boxes that differ from it in one choice.
class Bounds {
 public:
  Bounds(const Problem& problem, Objective objective);

  // Whether some mapping of the box may fit the buffers.
  bool fits(const Box& box) const;

  // Whatever follows is about this box.
  void enter(const Box& box);
  // No mapping of it that fits the buffers costs less; infinite if there is none.
  double least() const;
  // The same of its mappings with these tiles, sizes of clusters, or innermost loop of a level.
  double least_with(std::size_t loop, const Tiles& tiles);
  double least_with(Choices cluster);
  double least_with(std::size_t level, int innermost);
  // Loops that may move innermost at a level.
  std::vector<int> innermost(std::size_t level) const;

 private:
  using PerTensor = std::array<double, kTensors>;

  // Bytes that every mapping needs: of L1, and of L2 for each tensor.
  struct Needs {
    double l1;
    PerTensor l2;

    double sum() const { return l2[kInput] + l2[kFilter] + l2[kOutput]; }
  };
  // Cycles of the first cluster in some of its pieces: to fill it, to compute, to drain it, and to
  // compute the first or the last step of each.
  struct Run {
    double filled, computed, drained;
    double begun, ended;

    double cycles() const { return filled + computed + drained; }
  };
  // What does not depend on the orders.
  struct Fixed {
    double area, cycles;
    double offchip, fill, drain;            // cycles before the first step and after the last one
    double begun, ended;                    // of the first cluster's first and last piece
    Run run;                                // of all its pieces
    double most_steps, most_below;          // transfers each way at a level, at most
    std::array<bool, 1 << kTensors> keeps;  // whether L2 may keep a set of tensors
  };
  // What depends on the loop that moves innermost at one level.
  struct Part {
    double cycles, l1_accesses, l2_accesses, offchip_words;
  };

  void count(std::size_t loop);
  template <typename Size>
  PerTensor tile_words(const Size& size) const;
  Needs needs(const Box& box) const;
  template <typename Select>
  Run run(const Select& select, double most_transfers) const;
  Run run(Runs LoopCounts::* runs, double most_transfers) const;
  double first_cluster(int x, Runs LoopCounts::* some, const Fixed& fixed) const;
  double first_pe(int x, Runs::Work Runs::* some) const;
  Fixed fixed() const;
  double offchip_words(const Fixed& fixed, const PerTensor& streams) const;
  Part outer_part(const LevelTraffic& traffic, const Fixed& fixed, int x) const;
  Part inner_part(const LevelTraffic& all, const LevelTraffic& own, const Fixed& fixed,
                  int x) const;
  double cost(const Fixed& fixed, const Part& outer, const Part& inner) const;

  const Problem& problem_;
  Objective objective_;
  Box box_{};
  std::array<Units, 2> units_{};
  std::vector<LoopCounts> counts_;
};

}  // namespace gym::optimum
