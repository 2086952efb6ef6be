#include "space.hpp"

#include <algorithm>

#include "../core/integers.hpp"

namespace gym::hierarchy {

namespace {

// The least choice that is at least a number; the last one if there is none.
void choose(const Choice& choice, std::int64_t number, std::int32_t choices, std::int32_t* point) {
  if (choice.column < 0) return;
  std::int64_t index = number - 1;
  if (!choice.values.empty()) {
    const auto found = std::lower_bound(choice.values.begin(), choice.values.end(), number);
    index = found - choice.values.begin();
  }
  point[choice.column] = static_cast<std::int32_t>(std::min<std::int64_t>(index, choices - 1));
}

// The largest choice that is at most a number, and the least that is at least one; the number
// itself where there is none.
std::int64_t at_most(const Choice& choice, std::int64_t number) {
  const auto found = std::upper_bound(choice.values.begin(), choice.values.end(), number);
  return found == choice.values.begin() ? number : *std::prev(found);
}
std::int64_t at_least(const Choice& choice, std::int64_t number) {
  const auto found = std::lower_bound(choice.values.begin(), choice.values.end(), number);
  return found == choice.values.end() ? number : *found;
}

}  // namespace

class Space::Decoder {
 public:
  Decoder(const Space& space, const std::int32_t* point, std::vector<MappedLoop>& loops)
      : space_(space), point_(point), loops_(loops), count_(space.dims.size()) {
    std::copy(space.extents.begin(), space.extents.end(), box_.begin());
  }

  void decode() {
    limit();
    for (std::size_t g = 0; g < space_.groups.size(); ++g) {
      const Group& group = space_.groups[g];
      for (std::size_t d = 0; d < count_; ++d) {
        tile_[d] = std::min(tile(g, d), box_[d]);
        chunks_[d] = ceil_div(box_[d], tile_[d]);
      }
      share(group);
      cut(group);
      for (std::size_t f = 0; f < group.fanouts.size(); ++f) {
        for (std::size_t d = 0; d < count_; ++d) {
          tile_[d] /= units_[f][d];
          const std::int64_t share = equal_share(group, f, d);
          add(group.fanouts[f].part.element, d, std::min(tile_[d], share));
        }
      }
    }
  }

 private:
  // The largest boxes of memories that may not cut a dimension: what their units take.
  void limit() {
    limits_.assign(space_.uncut ? space_.groups.size() : 0, Counts{});
    for (std::size_t g = limits_.size(); g-- > 0;) {
      const Group& group = space_.groups[g];
      for (std::size_t d = 0; d < count_; ++d) {
        tile_[d] = tile(g, d);
        chunks_[d] = kUnlimited;
      }
      share(group);
      limits_[g].fill(kUnlimited);
      for (const std::uint8_t d : group.memory.uncut) limits_[g][d] = tile_[d];
    }
  }

  // What a point gives one instance of the memory after group g.
  std::int64_t tile(std::size_t g, std::size_t d) const {
    const Choice& choice = space_.groups[g].memory.sizes[d];
    const std::int64_t picked = choice.pick(point_);
    if (g + 1 >= limits_.size() || limits_[g + 1][d] >= picked) return picked;
    return at_most(choice, limits_[g + 1][d]);
  }

  // Deals units to chunks; tiles grow from those of one unit to those of all together.
  void share(const Group& group) {
    for (std::size_t f = 0; f < group.fanouts.size(); ++f) {
      const Part& part = group.fanouts[f].part;  // not bound: clang 14 cannot capture that
      units_[f].fill(1);
      std::int64_t room = group.fanouts[f].size;
      each_of(part, [&](std::size_t d) {
        const std::int64_t used =
            std::min({std::int64_t{part.sizes[d].pick(point_)}, chunks_[d], room});
        units_[f][d] = used;
        room /= used;
        chunks_[d] = ceil_div(chunks_[d], used);
        tile_[d] = std::min(tile_[d] * used, kUnlimited);
      });
    }
  }

  // What each unit gets of a box that is smaller than their tiles together; of divisors the next.
  std::int64_t equal_share(const Group& group, std::size_t fanout, std::size_t d) const {
    const std::int64_t share = ceil_div(box_[d], units_[fanout][d]);
    const Choice& choice = group.memory.sizes[d];
    if (choice.values.size() < 2) return share;
    std::int64_t below = 1;
    for (std::size_t f = fanout + 1; f < group.fanouts.size(); ++f) below *= units_[f][d];
    return at_least(choice, ceil_div(share, below)) * below;
  }

  void cut(const Group& group) {
    each_of(group.memory, [&](std::size_t d) {
      if (tile_[d] >= box_[d]) return;
      if (moves(group.memory.element, d)) {
        add(group.memory.element, d, tile_[d]);
      } else {
        widen(group, d);
      }
    });
    for (const std::uint8_t d : group.memory.uncut) widen(group, d);
  }

  // Leaves all of a dimension to the units.
  void widen(const Group& group, std::size_t d) {
    if (tile_[d] >= box_[d]) return;
    std::int64_t units = 1;
    for (std::size_t f = 0; f < group.fanouts.size(); ++f) units *= units_[f][d];
    tile_[d] = at_least(group.memory.sizes[d], ceil_div(box_[d], units)) * units;
  }

  // Whether a loop lets all tensors stay; it is noted where it does.
  bool moves(int element, std::size_t d) {
    const auto concerns = [&](std::size_t s) { return space_.stays[s].element > element; };
    const auto indexes = [&](std::size_t s) { return (space_.stays[s].indexing >> d & 1) != 0; };
    for (std::size_t s = 0; s < space_.stays.size(); ++s) {
      if (concerns(s) && indexes(s) && (reused_ >> s & 1) != 0) return false;
    }
    for (std::size_t s = 0; s < space_.stays.size(); ++s) {
      if (concerns(s) && !indexes(s)) reused_ |= std::uint64_t{1} << s;
    }
    return true;
  }

  void add(int element, std::size_t d, std::int64_t tile) {
    if (tile >= box_[d]) return;
    loops_.push_back({element, space_.dims[d], static_cast<std::int32_t>(tile)});
    box_[d] = tile;
  }

  template <typename Use>
  void each_of(const Part& part, const Use& use) const {
    for (const std::uint8_t d : part.first) use(d);
    if (part.order_column < 0) {
      for (const std::uint8_t d : part.free) use(d);
    } else {
      const auto rank = static_cast<std::size_t>(point_[part.order_column]);
      const MapSpace::Order& order = permutations(part.free.size())[rank];
      for (std::size_t i = 0; i < part.free.size(); ++i) use(part.free[order[i]]);
    }
    for (const std::uint8_t d : part.last) use(d);
  }

  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 40;

  const Space& space_;
  const std::int32_t* point_;
  std::vector<MappedLoop>& loops_;
  std::size_t count_;
  Counts box_, tile_, chunks_;
  Units units_;
  std::vector<Counts> limits_;
  std::uint64_t reused_ = 0;  // tensors that stay and have had a loop that does not index them
};

void Space::decode(const std::int32_t* point, std::vector<MappedLoop>& loops) const {
  loops.clear();
  Decoder(*this, point, loops).decode();
}

int Space::index_of(int loop) const {
  return static_cast<int>(std::find(dims.begin(), dims.end(), loop) - dims.begin());
}

void Space::encode(Mapping mapping, std::int32_t* point) const {
  const int count = static_cast<int>(dims.size());
  Counts box;
  std::copy(extents.begin(), extents.end(), box.begin());
  const auto* loop = mapping.data();
  const auto* const end = loop + mapping.size();
  // Calls with the dimension and the tile of each loop of an element that cuts something.
  const auto read = [&](int element, const auto& use) {
    for (; loop != end && loop->element == element; ++loop) {
      const int d = index_of(loop->dim);
      if (d == count || loop->tile >= box[static_cast<std::size_t>(d)]) continue;
      use(d, loop->tile);
      box[static_cast<std::size_t>(d)] = loop->tile;
    }
  };
  const auto set = [&](const Part& part, const Counts& sizes) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const Choice& choice = part.sizes[d];
      if (choice.column < 0) continue;
      choose(choice, sizes[d], parameters[static_cast<std::size_t>(choice.column)].choices, point);
    }
  };
  for (const Group& group : groups) {
    std::vector<std::int32_t> ranked;
    const Part::Dims& free = group.memory.free;
    const auto rank = [&](int d) {
      const auto place = std::find(free.begin(), free.end(), d) - free.begin();
      const auto found = static_cast<std::int32_t>(place);
      const bool known = std::find(ranked.begin(), ranked.end(), found) != ranked.end();
      if (place < std::ssize(free) && !known) ranked.push_back(found);
    };
    read(group.memory.element, [&](int d, std::int64_t) { rank(d); });
    for (int d = 0; d < count; ++d) rank(d);
    if (group.memory.order_column >= 0) point[group.memory.order_column] = rank_of(ranked);
    for (const auto& [part, size] : group.fanouts) {
      Counts units;
      units.fill(1);
      read(part.element, [&](int d, std::int64_t tile) {
        units[static_cast<std::size_t>(d)] = ceil_div(box[static_cast<std::size_t>(d)], tile);
      });
      if (part.order_column >= 0) point[part.order_column] = 0;
      set(part, units);
    }
    set(group.memory, box);
  }
}

}  // namespace gym::hierarchy
