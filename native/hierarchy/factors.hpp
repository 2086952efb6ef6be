// What one dimension contributes to words that move: sums over its boxes, in all steps or in those
// before and after a loop moves (H5). Shared by all tensors and holders.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "nest.hpp"

namespace gym::hierarchy {

// Which steps: all of them, the first, the last, or the pairs of steps between which a loop of the
// nest advances. Then the dimension's loops from `index` on jump from last to first, or `index`
// itself advances and those inside it jump.
struct Cut {
  enum Kind : std::uint8_t { all, first, last, jump, advance };
  Kind kind = all;
  int index = 0;
};

// What becomes of the units of each spatial loop, a bit by its number: each counts by itself
// (apart), or they are one big unit (whole), or only the first counts.
struct View {
  std::uint32_t apart = 0, whole = 0;

  friend bool operator==(const View&, const View&) = default;
};

// Boxes of one kind in two steps: sizes before and after, and how much later the second starts.
struct Boxes {
  std::int64_t before, after, shift, times;
};

// Sums over boxes that are there in both steps.
struct Factor {
  std::int64_t count = 0;  // how many
  std::int64_t size = 0;   // of those that have not moved
  int first = 0, kinds = 0;
};

class Factors {
 public:
  // With `listed`, kinds of boxes are kept as well.
  void open(const Chain& chain, bool listed);

  // For the loops of the chain above an element, `above` of them. The number of the factor found.
  int find(int above, Cut cut, View view) {
    const std::uint64_t kind = std::uint64_t{cut.kind} << 6 | static_cast<std::uint64_t>(cut.index);
    const std::uint64_t key =
        ((static_cast<std::uint64_t>(above) << 9 | kind) << 24 | view.apart) << 24 | view.whole;
    Slot& slot = slots_[(key * 0x9E3779B97F4A7C15u) >> (64 - kSlotBits)];
    if (slot.key != key || slot.opened != opened_) slot = {key, opened_, sum_up(above, cut, view)};
    return slot.number;
  }

  const Factor& operator[](int number) const { return factors_[static_cast<std::size_t>(number)]; }
  std::span<const Boxes> boxes(const Factor& factor) const {
    return {boxes_.data() + factor.first, static_cast<std::size_t>(factor.kinds)};
  }

 private:
  // A unit's boxes beside unit 0's, whose positions all units follow (H3.1).
  struct Walked {
    Boxes own;
    std::int64_t leader_before, leader_after;
  };

  int sum_up(int above, Cut cut, View view);
  void walk(int above, Cut cut, View view);
  void step(const Loop& loop, Cut cut, int index, View view);
  void visit(const Walked& from, std::int64_t tile);
  void advance(const Walked& from, std::int64_t tile);
  void jump(const Walked& from, std::int64_t tile);
  void begin(const Walked& from, std::int64_t tile);
  void end(const Walked& from, std::int64_t tile);
  void spread(const Walked& from, const Loop& loop, View view);
  void add(const Walked& walked);

  // The factor found last for keys of one hash; another one's may have to be summed up again.
  struct Slot {
    std::uint64_t key;
    std::uint64_t opened;
    int number;
  };

  const Chain* chain_ = nullptr;
  bool listed_ = false;
  std::uint64_t opened_ = 0;  // how often
  static constexpr int kSlotBits = 7;
  std::array<Slot, 1 << kSlotBits> slots_{};
  std::vector<Factor> factors_;
  std::vector<Boxes> boxes_;
  std::vector<Walked> now_, next_;
};

}  // namespace gym::hierarchy
