#include "proof.hpp"

#include <algorithm>
#include <atomic>

#include "../evaluate/thread_pool.hpp"

namespace gym::optimum {

namespace {

// Boxes that one thread takes at a time.
constexpr std::size_t kSlice = 256;

class Writer {
 public:
  Writer(const Problem& problem, Objective objective, double bound)
      : problem_(problem), brancher_(problem, objective, Lemmas::kOfCertificates), bound_(bound) {}

  void add(const Box& before, Block& block) {
    Box box = before;
    const Brancher::Outcome outcome = brancher_.branch(box, bound_);
    add_trims(before, box, block);
    if (outcome == Brancher::Outcome::kLeaf) {
      block.actions.push_back(kEvaluated);
      return;
    }
    block.actions.push_back(number(brancher_.axis()));
    block.parts.push_back(static_cast<std::uint8_t>(brancher_.parts().size()));
    for (const Bounded& part : brancher_.parts()) add_part(part, block);
  }

 private:
  std::size_t dims() const { return problem_.space.dims.size(); }

  std::uint8_t number(const Axis& axis) const {
    switch (axis.kind) {
      case Axis::kOuter:
        return static_cast<std::uint8_t>(problem_.loops[axis.index].dim);
      case Axis::kInner:
        return static_cast<std::uint8_t>(dims() + problem_.loops[axis.index].dim);
      case Axis::kCluster:
        return static_cast<std::uint8_t>(2 * dims());
      case Axis::kInnermost:
        break;
    }
    return static_cast<std::uint8_t>(2 * dims() + 1 + axis.index);
  }

  // Inner tiles larger than all outer ones are cut to them, which is no trim.
  void add_trims(const Box& before, const Box& after, Block& block) const {
    std::uint8_t count = 0;
    const auto trim = [&](const Cut& cut) {
      block.trim_axes.push_back(
          static_cast<std::uint8_t>(number(cut.axis) + (cut.from_below ? kFromBelow : 0)));
      block.trim_ends.push_back(cut.end);
      ++count;
    };
    const Axis cluster{Axis::kCluster, 0};
    const Choices &all = before.cluster, &larger = after.cluster;
    const std::int32_t least = std::min(larger.least, all.most + 1);
    const std::int32_t most = std::max(larger.most, least - 1);
    if (least != all.least) trim({cluster, true, least});
    if (most != all.most) trim({cluster, false, most});
    const auto add = [&](Axis axis, std::int32_t most, std::int32_t end) {
      if (end != most) trim({axis, false, end});
    };
    for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
      const Tiles &old = before.tiles[i], &now = after.tiles[i];
      add({Axis::kOuter, i}, old.outer.most, now.outer.most);
      add({Axis::kInner, i}, std::min(old.inner.most, now.outer.most), now.inner.most);
    }
    for (const Cut& cut : brancher_.cuts()) trim(cut);
    block.trims.push_back(count);
  }

  void add_part(const Bounded& part, Block& block) const {
    const Axis axis = brancher_.axis();
    const Box& box = part.box;
    const auto choices = [](Choices range) { return range.most - range.least + 1; };
    std::int32_t size = 0;
    if (axis.kind == Axis::kInnermost) {
      const int loop = box.innermost[axis.index];
      size = loop == kNone ? kNone : static_cast<std::int32_t>(problem_.loops[loop].dim);
    } else if (axis.kind == Axis::kCluster) {
      size = choices(box.cluster);
    } else {
      const Tiles& tiles = box.tiles[axis.index];
      size = choices(axis.kind == Axis::kOuter ? tiles.outer : tiles.inner);
    }
    const bool goes_on = part.bound < bound_ && brancher_.fits(box);
    block.sizes.push_back(size);
    block.goes_on.push_back(goes_on ? 1 : 0);
    if (goes_on) block.next.push_back(box);
  }

  const Problem& problem_;
  Brancher brancher_;
  double bound_;
};

}  // namespace

void Block::append(const Block& other) {
  const auto extend = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  extend(trims, other.trims);
  extend(trim_axes, other.trim_axes);
  extend(trim_ends, other.trim_ends);
  extend(actions, other.actions);
  extend(parts, other.parts);
  extend(sizes, other.sizes);
  extend(goes_on, other.goes_on);
  extend(next, other.next);
}

Block prove(const Problem& problem, Objective objective, const std::vector<Box>& boxes,
            double bound, int threads) {
  std::vector<Block> slices((boxes.size() + kSlice - 1) / kSlice);
  std::atomic<std::size_t> taken{0};
  const auto work = [&](int) {
    Writer writer(problem, objective, bound);
    for (std::size_t i = taken++; i < slices.size(); i = taken++) {
      const std::size_t end = std::min(boxes.size(), (i + 1) * kSlice);
      for (std::size_t j = i * kSlice; j < end; ++j) writer.add(boxes[j], slices[i]);
    }
  };
  ThreadPool::shared().run(std::max(threads, 1), work);
  Block all;
  for (const Block& slice : slices) all.append(slice);
  return all;
}

}  // namespace gym::optimum
