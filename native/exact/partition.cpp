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

Partition::Partition(const LoopNest& nest) : nest_(nest), loops_(real_loops(nest)) {
  for (int d = 0; d < kLoops; ++d) leave_whole(static_cast<LoopId>(d));
}

void Partition::cut(const Tiling& tiling) {
  for (const LoopId id : loops_) {
    bool cut = false;
    for (int j = 0; j < tiling.levels; ++j) cut = cut || tiling.level[j].cuts(id);
    if (cut) {
      cut_loop(tiling, id);
    } else if (!whole_[id]) {
      leave_whole(id);
    }
  }
}

void Partition::cut_loop(const Tiling& tiling, LoopId id) {
  whole_[id] = false;
  table_[0][id].clear();
  table_[0][id].add(nest_.extent[id], 1);
  for (int j = 0; j < tiling.levels; ++j) {
    const TiledLevel& level = tiling.level[j];
    const bool passes_on = j + 1 < tiling.levels;
    if (passes_on) table_[j + 1][id].clear();
    Sums sums{};
    for (Variant& each : table_[j][id]) {
      if (level.cuts(id)) {
        each.cut = exact::cut_loop(each.extent, level.tile[id], level.units_of(id));
      } else {
        each.cut = whole(each.extent);
      }
      sums.add(each.boxes, each.extent, each.cut);
      if (passes_on) pass_on(each, table_[j + 1][id]);
    }
    sums_[j][id] = sums;
  }
}

void Partition::leave_whole(LoopId id) {
  whole_[id] = true;
  for (int j = 0; j < kMaxLevels; ++j) {
    Variants& variants = table_[j][id];
    variants.clear();
    variants.add(nest_.extent[id], 1);
    variants.begin()->cut = whole(nest_.extent[id]);
    variants.begin()->chunk = {0, 0};
    sums_[j][id] = Sums{};
    sums_[j][id].add(1, nest_.extent[id], variants.begin()->cut);
  }
}

}  // namespace gym::exact
