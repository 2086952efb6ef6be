// Lower bounds of what the mappings of a box cost (docs/optimum.md, 5 to 7).
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "box.hpp"
#include "cluster.hpp"
#include "trade.hpp"
#include "traffic.hpp"

namespace gym::optimum {

// The bound of what has no mapping.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// What is minimised: the product of some costs, each so many times.
struct Objective {
  std::ptrdiff_t latency, energy, area;
};

// By which lemmas mappings are ruled out: those that the checker of certificates has, or all.
enum class Lemmas : bool { kOfCertificates, kAll };

// A few loops, or kNone.
class SomeLoops {
 public:
  void push_back(int loop) { loops_[size_++] = loop; }
  std::size_t size() const { return size_; }
  int operator[](std::size_t i) const { return loops_[i]; }
  const int* begin() const { return loops_.data(); }
  const int* end() const { return loops_.data() + size_; }

 private:
  std::array<int, kLoops + 1> loops_{};
  std::size_t size_ = 0;
};

// The bounds of one box, and of boxes that differ from it in one choice.
class Bounds {
 public:
  Bounds(const Problem& problem, Objective objective, Lemmas lemmas);

  // Whether some mapping of the box may fit the buffers.
  bool fits(const Box& box) const;

  // Whatever follows is about this box; of bounds that are as large, larger ones do not matter.
  void enter(const Box& box, double enough);
  // No mapping of it that fits the buffers costs less; infinite if there is none.
  double least() const;
  // The same of its mappings with these tiles, sizes of clusters, or innermost loop of a level.
  double least_with(std::size_t loop, const Tiles& tiles);
  double least_with(Choices cluster);
  double least_with(std::size_t level, int innermost);
  // Loops that may move innermost at a level.
  SomeLoops innermost(std::size_t level) const;

 private:
  // Words that every mapping needs: of L1, and of L2 for each tensor.
  struct Needs {
    double l1;
    PerTensor l2;
    PerTensor cluster, pe;  // words of their tiles
    double share;           // of L1, of the cluster's tiles

    double sum() const { return l2[kInput] + l2[kFilter] + l2[kOutput]; }
  };
  // Cycles of a level's first fill, its last drain, and what it computes in its first and its last
  // step; and its transfers each way.
  struct Ends {
    double fill, drain;
    double begun, ended;
    Transfers transfers;
  };
  // What does not depend on the orders.
  struct Fixed {
    double area, cycles;
    double offchip;                         // cycles of the first fill and the last drain
    Ends outer, inner;                      // of the levels; summed over the first cluster's pieces
    std::array<bool, 1 << kTensors> keeps;  // whether L2 may keep a set of tensors
  };
  // What depends on the loop that moves innermost at one level.
  struct Part {
    int innermost;
    double cycles, l1_accesses, l2_accesses, noc_words, offchip_words;
    double traded_nj;  // as not all tensors are moved as seldom as can be
  };

  // By the loop.
  using Parts = std::array<Part, kLoops + 1>;

  void count(std::size_t loop);
  template <typename Size>
  PerTensor tile_words(const Size& size) const;
  Needs needs(const Box& box) const;
  Fixed fixed(const FirstCluster& cluster) const;
  double offchip_words(const Fixed& fixed, const PerTensor& streams) const;
  Part outer_part(const LevelTraffic& traffic, const Fixed& fixed, int x) const;
  Part inner_part(const LevelTraffic& own, const Fixed& fixed, int x) const;
  void count_clusters(Parts& parts, std::size_t count) const;
  void count_pes(Parts& parts, std::size_t count) const;
  void trade(Parts& outer, std::size_t outers, Parts& inner, std::size_t inners) const;
  PerTensor most_held(std::size_t level, const Needs& least) const;
  static double exposed(const Fixed& fixed);
  double moved(const Ends& ends, const Words& words) const;
  void add_sweeps(const LevelTraffic& traffic, const FirstCluster& cluster, const Fixed& fixed,
                  Part& part) const;
  void add_sweeps_below(const LevelTraffic& own, const FirstCluster& cluster, const Fixed& fixed,
                        Part& part) const;
  template <typename Computed>
  double swept(const Ends& ends, const LevelTraffic& traffic, int x,
               const Computed& computed) const;
  double cost(const Fixed& fixed, const Part& outer, const Part& inner) const;

  const Problem& problem_;
  Objective objective_;
  Lemmas lemmas_;
  double enough_ = 0;
  Box box_{};
  std::array<Units, 2> units_{};
  std::vector<LoopCounts> counts_;
};

}  // namespace gym::optimum
