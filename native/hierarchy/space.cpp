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

}  // namespace

const MapSpace::Order& Space::order(const Part& part, const std::int32_t* point) const {
  return permutations(dims.size())[static_cast<std::size_t>(point[part.order_column])];
}

void Space::decode(const std::int32_t* point, std::vector<MappedLoop>& loops) const {
  loops.clear();
  const std::size_t count = dims.size();
  const auto add = [&](int element, std::size_t d, std::int64_t tile) {
    loops.push_back({element, dims[d], static_cast<std::int32_t>(tile)});
  };
  Counts box, tile, chunks;
  std::copy(extents.begin(), extents.end(), box.begin());
  for (const Group& group : groups) {
    // `tile` grows from that of one unit to that of all units together.
    for (std::size_t d = 0; d < count; ++d) {
      tile[d] = std::min<std::int64_t>(group.memory.sizes[d].pick(point), box[d]);
      chunks[d] = ceil_div(box[d], tile[d]);
    }
    std::array<Counts, kMaxFanouts> units;
    for (std::size_t f = 0; f < group.fanouts.size(); ++f) {
      const auto& [part, size] = group.fanouts[f];
      std::int64_t room = size;
      const MapSpace::Order& first = order(part, point);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t d = first[i];
        const std::int64_t used =
            std::min({std::int64_t{part.sizes[d].pick(point)}, chunks[d], room});
        units[f][d] = used;
        room /= used;
        chunks[d] = ceil_div(chunks[d], used);
        tile[d] *= used;
      }
    }
    const MapSpace::Order& outermost = order(group.memory, point);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t d = outermost[i];
      if (tile[d] >= box[d]) continue;
      add(group.memory.element, d, tile[d]);
      box[d] = tile[d];
    }
    for (std::size_t f = 0; f < group.fanouts.size(); ++f) {
      for (std::size_t d = 0; d < count; ++d) {
        tile[d] /= units[f][d];
        if (tile[d] >= box[d]) continue;
        add(group.fanouts[f].part.element, d, tile[d]);
        box[d] = tile[d];
      }
    }
  }
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
    read(group.memory.element, [&](int d, std::int64_t) { ranked.push_back(d); });
    for (int d = 0; d < count; ++d) {
      if (std::find(ranked.begin(), ranked.end(), d) == ranked.end()) ranked.push_back(d);
    }
    point[group.memory.order_column] = rank_of(ranked);
    for (const auto& [part, size] : group.fanouts) {
      Counts units;
      units.fill(1);
      read(part.element, [&](int d, std::int64_t tile) {
        units[static_cast<std::size_t>(d)] = ceil_div(box[static_cast<std::size_t>(d)], tile);
      });
      point[part.order_column] = 0;
      set(part, units);
    }
    set(group.memory, box);
  }
}

}  // namespace gym::hierarchy
