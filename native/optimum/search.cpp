#include "search.hpp"

#include <algorithm>
#include <atomic>

#include "../evaluate/thread_pool.hpp"

namespace gym::optimum {

namespace {

// Boxes that are looked into side by side, however many threads there are.
constexpr std::size_t kDivers = 8;
// After so many nodes, what is left of a box waits behind those with less to cost, if there is
// room.
constexpr std::int64_t kNodesOfDive = 1 << 14;
// Between these, divers do not know what the others have found.
constexpr std::int64_t kNodesOfRound = 1 << 11;

}  // namespace

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

Search::Search(const Problem& problem, Objective objective, std::size_t most_open)
    : problem_(problem), objective_(objective), most_open_(most_open), best_(kNever) {
  for (std::size_t i = 0; i < kDivers; ++i) divers_.emplace_back(problem_, objective_);
  restart(all_mappings(problem_));
}

double Search::bound_of(const Box& box, Lemmas lemmas) const {
  Bounds bounds(problem_, objective_, lemmas);
  if (!bounds.fits(box)) return kNever;
  bounds.enter(box, kNever);
  return bounds.least();
}

void Search::push(const Bounded& box) {
  if (box.bound < kNever) open_.push({box, made_++});
}

bool Search::finished() const { return bound() >= best_; }

double Search::bound() const {
  double least = open_.empty() ? best_ : std::min(best_, open_.top().bounded.bound);
  for (const Diver& diver : divers_) {
    for (const Bounded& each : diver.left()) least = std::min(least, each.bound);
  }
  return least;
}

std::vector<Box> Search::left() const {
  std::vector<Box> boxes;
  auto open = open_;
  for (; !open.empty(); open.pop()) boxes.push_back(open.top().bounded.box);
  for (const Diver& diver : divers_) {
    for (const Bounded& each : diver.left()) boxes.push_back(each.box);
  }
  return boxes;
}

void Search::restart(const std::vector<Box>& boxes) {
  open_ = {};
  for (Diver& diver : divers_) diver.end();
  for (const Box& box : boxes) push({box, bound_of(box)});
}

// Gives every diver a box that has none left, or has spent its nodes.
void Search::refill() {
  for (Diver& diver : divers_) {
    const bool goes_on = diver.nodes() < kNodesOfDive || open_.size() >= most_open_;
    if (goes_on && !diver.left().empty()) continue;
    for (const Bounded& left : diver.left()) {
      if (left.bound < best_) push(left);
    }
    diver.end();
    if (open_.empty()) continue;
    diver.begin(open_.top().bounded);
    open_.pop();
  }
}

std::vector<std::int32_t> Search::ask(std::int64_t nodes, int threads) {
  std::vector<std::int32_t> points;
  const std::int64_t end = nodes_ + nodes;
  while (points.empty() && nodes_ < end && !finished()) {
    refill();
    std::int64_t before = 0;
    for (const Diver& diver : divers_) before += diver.nodes();
    std::atomic<std::size_t> next{0};
    const auto work = [&](int) {
      for (std::size_t i = next++; i < divers_.size(); i = next++) {
        divers_[i].dive(best_, kNodesOfRound);
      }
    };
    ThreadPool::shared().run(std::clamp(threads, 1, static_cast<int>(kDivers)), work);
    for (const Diver& diver : divers_) {
      nodes_ += diver.nodes();
      points.insert(points.end(), diver.points().begin(), diver.points().end());
    }
    nodes_ -= before;
  }
  return points;
}

void Search::tell(double cost) {
  best_ = std::min(best_, cost);
  for (Diver& diver : divers_) diver.settle();
}

}  // namespace gym::optimum
