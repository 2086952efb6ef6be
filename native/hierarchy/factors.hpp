// What one dimension contributes to words that move: sums over its boxes, in all steps or in those
// before and after a loop moves (H5). Shared by all tensors and holders.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "nest.hpp"

namespace gym::hierarchy {

// Which steps: all of them, the first, the last, or the pairs of steps between which a loop of the
// nest advances. Then the dimension's loops from `index` on jump from last to first, or `index`
// itself advances and those inside it jump.
struct Cut {
  enum Kind : std::uint8_t { all, first, last, jump, advance, kinds };
  Kind kind = all;
  int index = 0;
};

// What becomes of the units of a spatial loop: only the first counts, each counts by itself, or
// they are one big unit.
enum class Units : std::uint8_t { first, apart, whole };

// Boxes of one kind in two steps: sizes before and after, and how much later the second starts.
struct Boxes {
  std::int64_t before, after, shift, times;
  // Unit 0's, whose positions all units follow (H3.1).
  std::int64_t leader_before, leader_after;
};

// Sums over boxes that are there in both steps.
struct Factor {
  int index = 0;           // of its cut
  std::int64_t count = 0;  // how many
  std::int64_t size = 0;   // of those that have not moved
  std::vector<Boxes> boxes;
  Factor* next = nullptr;  // of the same prefix and kind of cut

  void add(const Boxes& found);
};

// The first loops of a chain, and what becomes of the units of each. Like factors, prefixes last
// until their chain is opened again.
struct Prefix {
  int loops = 0;
  Prefix* outer = nullptr;                    // without the last of them
  Units units = {};                           // of the last
  std::array<Factor*, Cut::kinds> factors{};  // found so far, by kind of cut
  std::array<Prefix*, 3> longer{};            // by the units of the next loop
};

// Objects that stay where they are, and are used again after all have been given back.
template <typename T>
class Store {
 public:
  void clear() { used_ = 0; }
  T* take() {
    if (used_ == kept_.size()) kept_.push_back(std::make_unique<T>());
    return kept_[used_++].get();
  }

 private:
  std::vector<std::unique_ptr<T>> kept_;
  std::size_t used_ = 0;
};

class Factors {
 public:
  void open(const Chain& chain);

  // The prefix without loops.
  Prefix* none() { return none_; }
  // The one with the next loop.
  Prefix* longer(Prefix* prefix, Units units) {
    const Loop& loop = chain_->loops[static_cast<std::size_t>(prefix->loops)];
    Prefix*& found = prefix->longer[static_cast<std::size_t>(loop.spatial ? units : Units{})];
    if (found == nullptr) found = add_prefix(prefix, loop.spatial ? units : Units{});
    return found;
  }

  const Factor* find(Prefix* prefix, Cut cut) {
    for (const Factor* found = prefix->factors[cut.kind]; found != nullptr; found = found->next) {
      if (found->index == cut.index) return found;
    }
    return sum_up(prefix, cut);
  }

 private:
  Prefix* add_prefix(Prefix* outer, Units units);
  Factor& add_factor(Prefix* prefix, Cut cut);
  const Factor* sum_up(Prefix* prefix, Cut cut);

  const Chain* chain_ = nullptr;
  Prefix* none_ = nullptr;
  Store<Prefix> prefixes_;
  Store<Factor> factors_;
};

}  // namespace gym::hierarchy
