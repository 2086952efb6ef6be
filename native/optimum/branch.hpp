// Makes boxes smaller: what a search for the optimum does to each (docs/optimum.md, 8).
#pragma once

#include <cstdint>
#include <vector>

#include "bounds/bound.hpp"

namespace gym::optimum {

struct Bounded {
  Box box;
  double bound;
};

// What a box is split by: the range of an outer or inner tile or of cluster sizes, or the innermost
// loop of a level.
struct Axis {
  enum Kind { kOuter, kInner, kCluster, kInnermost } kind;
  std::size_t index;  // of the loop, or of the level
};

// Choices at one end of an axis that are left out, as their bound is too high: what is left begins
// or ends with this one.
struct Cut {
  Axis axis;
  bool from_below;
  std::int32_t end;
};

class Brancher {
 public:
  // What becomes of a box: nothing, if it has no mapping that fits; a leaf, of which nothing but
  // orders is left to choose; or parts, which together are the box.
  enum class Outcome { kNothing, kLeaf, kParts };

  Brancher(const Problem& problem, Objective objective, Lemmas lemmas)
      : problem_(problem), bounds_(problem, objective, lemmas), lemmas_(lemmas) {}

  // Leaves out of a box what does not fit, and splits it where the least work is left in parts that
  // may cost less than `best`.
  Outcome branch(Box& box, double best);
  const Axis& axis() const { return axis_; }
  const std::vector<Bounded>& parts() const { return parts_; }
  // Of other axes, one after the other; the parts are what they leave.
  const std::vector<Cut>& cuts() const { return cuts_; }

  bool fits(const Box& box) const { return bounds_.fits(box); }
  std::int64_t nodes() const { return nodes_; }  // boxes whose bound was computed

 private:
  bool trim(Box& box) const;
  bool is_inert(const Box& box, std::size_t level, int loop) const;
  bool leave_doubles(Box& box) const;
  bool leave_mirrored(Box& box) const;
  bool leave_largest(Box& box) const;
  bool fits_inside(Box box, std::size_t loop) const;
  void split(const Box& box, double best);
  void try_tiles(Box box, Axis axis, const std::vector<Tiles>& parts);
  void split_tiles(Box box, std::size_t loop);
  void split_cluster(Box box);
  void split_orders(Box box, std::size_t level);
  void add(const Box& part, double bound);
  void cut(Axis axis);
  void narrow(Box& part) const;
  double weight(double bound_of_middle);
  void compare(Axis axis, double weight);

  const Problem& problem_;
  Bounds bounds_;
  Lemmas lemmas_;
  Axis axis_{};
  std::vector<Bounded> parts_, tried_;
  std::vector<Cut> cuts_;
  Box kept_{};  // of the box that is split; nothing else may cost less than the best
  double best_ = 0, least_work_ = 0, whole_gap_ = 0;
  std::int64_t nodes_ = 0;
};

}  // namespace gym::optimum
