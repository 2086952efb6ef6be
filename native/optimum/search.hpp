// Branch and bound: the mapping of a space that costs least, and the proof (docs/optimum.md, 8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "branch.hpp"

namespace gym::optimum {

// Looks into one box after the other, depth first.
class Diver {
 public:
  Diver(const Problem& problem, Objective objective)
      : problem_(problem), brancher_(problem, objective, Lemmas::kAll) {}

  void begin(const Bounded& box);
  void end() { left_.clear(); }
  // Looks into so many boxes, or until it has points: those of the first box that has nothing left
  // to choose but orders. Boxes that cannot cost less than `best` are left out.
  void dive(double best, std::int64_t nodes);
  const std::vector<std::int32_t>& points() const { return points_; }
  // The costs of the points are known.
  void settle();

  const std::vector<Bounded>& left() const { return left_; }          // with that of the points
  std::int64_t nodes() const { return brancher_.nodes() - before_; }  // since it began

 private:
  void look_into(Bounded next, double best);

  const Problem& problem_;
  Brancher brancher_;
  std::vector<Bounded> left_;  // the next one last
  std::vector<std::int32_t> points_;
  std::int64_t before_ = 0;
};

// Finds the mapping with the least cost among those that fit the buffers. It asks for the costs of
// some, and rules out the others by bounds.
class Search {
 public:
  // Boxes that may wait; the memory of a search is that of these.
  static constexpr std::size_t kMostOpen = std::size_t{1} << 21;

  Search(const Problem& problem, Objective objective, std::size_t most_open = kMostOpen);
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Points whose costs are wanted, one after the other; none once so many more boxes have been
  // looked into, or all of them. They do not depend on the threads.
  std::vector<std::int32_t> ask(std::int64_t nodes, int threads);
  // Boxes that may have a mapping that costs less than any told. A search that is given these in
  // place of all mappings goes on from here.
  std::vector<Box> left() const;
  void restart(const std::vector<Box>& boxes);

  // The least cost that is known, with those of the points asked for: only less is looked for.
  void tell(double cost);

  // Whether no mapping costs less than the least cost told.
  bool finished() const;
  // No mapping costs less.
  double bound() const;
  std::int64_t nodes() const { return nodes_; }  // boxes whose bound was computed

  const Problem& problem() const { return problem_; }
  // What every mapping of a box costs at least; infinite if none fits the buffers.
  double bound_of(const Box& box, Lemmas lemmas = Lemmas::kAll) const;

 private:
  // Of equal bounds the box that was made first comes first.
  struct Open {
    Bounded bounded;
    std::int64_t number;

    bool operator<(const Open& other) const {
      const double bound = bounded.bound, others = other.bounded.bound;
      return bound != others ? bound > others : number > other.number;
    }
  };
  static_assert(sizeof(Open) <= 168, "docs/optimum.md, 8, states how much memory the boxes take");

  void push(const Bounded& box);
  void refill();

  Problem problem_;
  Objective objective_;
  std::size_t most_open_;
  std::vector<Diver> divers_;
  std::priority_queue<Open> open_;
  double best_;
  std::int64_t nodes_ = 0, made_ = 0;
};

}  // namespace gym::optimum
