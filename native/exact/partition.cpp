#include "partition.hpp"

namespace gym::exact {

namespace {

// The chunks of a level's boxes are the boxes of the next level.
void pass_on(Variant& box, Variants& chunks) {
  const Cut& cut = box.cut;
  const bool several = cut.chunks > 1;
  if (several) box.chunk[0] = chunks.add(cut.tile, box.boxes * (cut.chunks - 1));
  box.chunk[1] = chunks.add(cut.tail, box.boxes);
  if (!several) box.chunk[0] = box.chunk[1];
}

}  // namespace

std::uint8_t Variants::add(std::int64_t extent, std::int64_t boxes) {
  int index = 0;
  while (index < count_ && each_[index].extent != extent) ++index;
  Variant& variant = each_[index];
  if (index == count_) {
    ++count_;
    variant.extent = extent;
    variant.boxes = 0;
  }
  variant.boxes += boxes;
  return static_cast<std::uint8_t>(index);
}

Partition::Tiles::Tiles(const Tiling& tiling, LoopId id) : levels(tiling.levels) {
  for (int j = 0; j < levels; ++j) {
    const TiledLevel& level = tiling.level[j];
    size[j] = level.tile[id];
    units[j] = level.units_of(id);
  }
}

bool Partition::Tiles::operator==(const Tiles& other) const {
  bool same = levels == other.levels;
  for (int j = 0; same && j < levels; ++j) {
    same = size[j] == other.size[j] && units[j] == other.units[j];
  }
  return same;
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
  variants[0].clear();
  variants[0].add(extent, 1);
  for (int j = 0; j < tiles.levels; ++j) {
    const bool passes_on = j + 1 < tiles.levels;
    if (passes_on) variants[j + 1].clear();
    const bool uncut = tiles.size[j] == TiledLevel::kUncut;
    Sums sum{};
    for (Variant& each : variants[j]) {
      each.cut = uncut ? whole(each.extent) : cut_loop(each.extent, tiles.size[j], tiles.units[j]);
      sum.add(each.boxes, each.extent, each.cut);
      if (passes_on) pass_on(each, variants[j + 1]);
    }
    sums[j] = sum;
    factor[j] = {sum.own(extent), sum.copies(), sum.copies_for_units()};
  }
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
