// Lower bounds of what the mappings of a box cost (docs/optimum.md, 5 to 7).
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "../box.hpp"
#include "latency.hpp"
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

// One for each loop and for kNone, at most.
template <typename Item>
class Few {
 public:
  void push_back(const Item& item) { items_[size_++] = item; }
  std::size_t size() const { return size_; }
  const Item& operator[](std::size_t i) const { return items_[i]; }
  const Item* begin() const { return items_.data(); }
  const Item* end() const { return items_.data() + size_; }
  Item* begin() { return items_.data(); }
  Item* end() { return items_.data() + size_; }

 private:
  std::array<Item, kLoops + 1> items_;
  std::size_t size_ = 0;
};
using SomeLoops = Few<int>;

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
  // What does not depend on the orders.
  struct Fixed {
    double area, cycles;
    std::array<bool, 1 << kTensors> keeps;  // whether L2 may keep a set of tensors
  };
  // What depends on the loop that moves innermost at one level.
  struct Part {
    int innermost;
    Words moved{};  // between the array and what is above it
    double cycles = 0, l1_accesses = 0, l2_accesses = 0, noc_words = 0, offchip_words = 0;
    double traded_nj = 0;  // as not all tensors are moved as seldom as can be
  };
  using Parts = Few<Part>;
  struct Sides {
    Fixed fixed;
    Parts outer, inner;
  };

  void count(std::size_t loop);
  Needs needs(const Box& box) const;
  Fixed fixed(const Needs& needs) const;
  Parts parts(std::size_t level) const;
  double offchip_words(const Fixed& fixed, const PerTensor& streams) const;
  void count_array(const LevelTraffic& traffic, const Fixed& fixed, Part& part) const;
  void count_clusters(Parts& parts) const;
  void count_pes(const LevelTraffic& traffic, Parts& parts) const;
  void trade(const Needs& needs, Sides& sides) const;
  PerTensor most_held(std::size_t level, const Needs& least) const;
  static void add_cycles(const Latency& latency, Sides& sides);
  static void add_sweeps(const Latency& latency, const LevelTraffic& outer, Sides& sides);
  double least_of(const Sides& sides) const;
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
