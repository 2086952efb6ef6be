#include "diver.hpp"

#include <algorithm>

namespace gym::optimum {

void Diver::begin(const Bounded& box) {
  left_.assign(1, box);
  points_.clear();
  before_ = brancher_.nodes();
}

void Diver::dive(double best, std::int64_t nodes) {
  points_.clear();
  const std::int64_t end = brancher_.nodes() + nodes;
  while (!left_.empty() && points_.empty() && brancher_.nodes() < end) {
    const Bounded next = left_.back();
    left_.pop_back();
    if (next.bound < best) look_into(next, best);
  }
}

void Diver::settle() {
  if (!points_.empty()) left_.pop_back();
  points_.clear();
}

void Diver::look_into(Bounded next, double best) {
  switch (brancher_.branch(next.box, best)) {
    case Brancher::Outcome::kNothing:
      return;
    case Brancher::Outcome::kLeaf:
      points_ = points_of(problem_, next.box);
      left_.push_back(next);
      return;
    case Brancher::Outcome::kParts:
      const auto first = static_cast<std::ptrdiff_t>(left_.size());
      for (const Bounded& part : brancher_.parts()) {
        if (part.bound < best) left_.push_back(part);
      }
      std::stable_sort(left_.begin() + first, left_.end(),
                       [](const Bounded& a, const Bounded& b) { return a.bound > b.bound; });
  }
}

}  // namespace gym::optimum
