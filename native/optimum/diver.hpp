// Looks into one box after the other, depth first.
#pragma once

#include <cstdint>
#include <vector>

#include "branch.hpp"

namespace gym::optimum {

class Diver {
 public:
  Diver(const Problem& problem, Objective objective)
      : problem_(problem), brancher_(problem, objective) {}

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

}  // namespace gym::optimum
