#include "partition.hpp"

namespace gym::exact {

Partition::Tiles::Tiles(const Tiling& tiling, LoopId id) : levels(tiling.levels) {
  for (int j = 0; j < levels; ++j) {
    const TiledLevel& level = tiling.level[j];
    size[j] = level.tile[id];
    units[j] = level.units_of(id);
  }
}

bool Partition::Tiles::whole() const {
  bool cut = false;
  for (int j = 0; j < levels; ++j) cut = cut || size[j] != TiledLevel::kUncut;
  return !cut;
}

std::size_t Partition::Tiles::slot() const {
  std::uint64_t hash = 0;
  for (int j = 0; j < levels; ++j) {
    hash = 31 * hash + static_cast<std::uint64_t>(size[j]);
    hash = 31 * hash + static_cast<std::uint64_t>(units[j]);
  }
  return hash * 0x9e3779b97f4a7c15 >> (64 - kSlotBits);
}

void Partition::LoopCuts::cut(std::int64_t extent, const Tiles& tiles) {
  level[0].variants = 0;
  add(0, extent, 1);
  for (int j = 0; j < tiles.levels; ++j) {
    const bool passes_on = j + 1 < tiles.levels;
    if (passes_on) level[j + 1].variants = 0;
    const bool uncut = tiles.size[j] == TiledLevel::kUncut;
    Sums sums{};
    for (Variant& each : std::span(first(j), level[j].variants)) {
      each.cut = uncut ? whole(each.extent) : cut_loop(each.extent, tiles.size[j], tiles.units[j]);
      sums.add(each);
      if (passes_on) pass_on(each, j + 1);
    }
    level[j].sums = sums;
    level[j].factor = {sums.own(extent), sums.copies(), sums.copies_for_units()};
  }
}

std::uint8_t Partition::LoopCuts::add(int j, std::int64_t extent, std::int64_t boxes) {
  const std::span known(first(j), level[j].variants);
  std::size_t index = 0;
  while (index < known.size() && known[index].extent != extent) ++index;
  Variant& found = first(j)[index];
  if (index == known.size()) {
    ++level[j].variants;
    found.extent = extent;
    found.boxes = 0;
  }
  found.boxes += boxes;
  return static_cast<std::uint8_t>(index);
}

void Partition::LoopCuts::pass_on(Variant& box, int next) {
  const Cut& cut = box.cut;
  const bool several = cut.chunks > 1;
  if (several) box.chunk[0] = add(next, cut.tile, box.boxes * (cut.chunks - 1));
  box.chunk[1] = add(next, cut.tail, box.boxes);
  if (!several) box.chunk[0] = box.chunk[1];
}

Partition::Partition(const LoopNest& nest)
    : nest_(nest), loops_(real_loops(nest)), kept_(loops_.size()) {
  Tiling uncut;
  uncut.levels = kMaxLevels;
  for (TiledLevel& level : uncut.level) level.clear();
  for (int d = 0; d < kLoops; ++d) {
    const auto id = static_cast<LoopId>(d);
    whole_[id].cut(nest.extent[id], Tiles(uncut, id));
    cuts_[id] = &whole_[id];
  }
}

void Partition::cut(const Tiling& tiling) {
  Kept* kept = kept_.data();
  for (const LoopId id : loops_) {
    const Tiles tiles(tiling, id);
    if (tiles.whole()) {
      cuts_[id] = &whole_[id];
    } else {
      const std::size_t slot = tiles.slot();
      LoopCuts& cuts = kept->cuts[slot];
      if (!(kept->tiles[slot] == tiles)) {
        kept->tiles[slot] = tiles;
        cuts.cut(nest_.extent[id], tiles);
      }
      cuts_[id] = &cuts;
    }
    ++kept;
  }
}

}  // namespace gym::exact
