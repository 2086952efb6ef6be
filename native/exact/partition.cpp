#include "partition.hpp"

namespace gym::exact {

namespace {

// The chunks of a level's boxes are the boxes of the next level.
void pass_on(Variants& boxes, Variants& chunks) {
  chunks.clear();
  for (Variant& box : boxes) {
    const Cut& cut = box.cut;
    if (cut.chunks > 1) box.chunk[0] = chunks.add(cut.tile, box.boxes * (cut.chunks - 1));
    box.chunk[1] = chunks.add(cut.tail, box.boxes);
    if (cut.chunks == 1) box.chunk[0] = box.chunk[1];
  }
}

Sums add_up(const Variants& variants) {
  Sums sums{0, 0, 0, 0, 0, 0, 0, 0};
  for (const Variant& each : variants) {
    const Cut& cut = each.cut;
    const bool moves = cut.steps > 1;
    sums.boxes += each.boxes;
    sums.steps += each.boxes * cut.steps;
    sums.chunks += each.boxes * cut.chunks;
    sums.active_first += each.boxes * cut.active[moves ? 0 : 1];
    sums.active_last += each.boxes * cut.active[1];
    if (moves) continue;
    sums.still_boxes += each.boxes;
    sums.still_chunks += each.boxes * cut.chunks;
    sums.still += each.boxes * each.extent;
  }
  return sums;
}

// Every box is one step, and all make up the extent.
Sums add_up_uncut(std::int64_t boxes, std::int64_t extent) {
  return {boxes, boxes, boxes, boxes, boxes, boxes, boxes, extent};
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
  std::int64_t boxes = 1;
  for (int j = 0; j < tiling.levels; ++j) {
    const TiledLevel& level = tiling.level[j];
    Variants& variants = table_[j][id];
    if (level.cuts(id)) {
      for (Variant& each : variants) {
        exact::cut_loop(each.extent, level.tile[id], level.units_of(id), each.cut);
      }
      sums_[j][id] = add_up(variants);
    } else {
      for (Variant& each : variants) each.cut = whole(each.extent);
      sums_[j][id] = add_up_uncut(boxes, nest_.extent[id]);
    }
    boxes = sums_[j][id].chunks;
    if (j + 1 < tiling.levels) pass_on(variants, table_[j + 1][id]);
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
    sums_[j][id] = add_up_uncut(1, nest_.extent[id]);
  }
}

}  // namespace gym::exact
