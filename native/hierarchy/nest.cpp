#include "nest.hpp"

#include "../core/integers.hpp"

namespace gym::hierarchy {

double Shape::macs_estimate() const {
  double macs = 1;
  for (const std::int64_t each : extent) macs *= static_cast<double>(each);
  return macs;
}

Nest::Nest(const Accelerator& accelerator)
    : accelerator_(accelerator), used_(accelerator.elements.size(), 1.0) {}

Verdict Nest::read(const Shape& shape, Mapping mapping) {
  for (int d = 0; d < kLoops; ++d) {
    chains_[d].extent = box_[d] = shape.extent[d];
    chains_[d].loops.clear();
    divided_[d] = true;
  }
  listed_.fill(0);
  used_.assign(used_.size(), 1.0);
  movers_.clear();
  even_ = true;
  int element = 0;
  for (const MappedLoop& loop : mapping) {
    const bool known = loop.element >= element && loop.element < accelerator_.rest() &&
                       loop.dim >= 0 && loop.dim < kLoops && loop.tile >= 1;
    if (!known || (listed_[loop.element] >> loop.dim & 1) != 0) return Verdict::bad_tile;
    element = loop.element;
    listed_[element] |= std::uint64_t{1} << loop.dim;
    const Verdict verdict = add(loop, element);
    if (verdict != Verdict::ok) return verdict;
  }
  add_rest();
  count_above();
  return Verdict::ok;
}

Verdict Nest::add(const MappedLoop& loop, int element) {
  Chain& chain = chains_[loop.dim];
  const Element& place = accelerator_.elements[element];
  std::int64_t& box = box_[loop.dim];
  const bool cuts = loop.tile < box;
  // Even a temporal loop of one position sets the units above it apart (H3.6).
  if (place.is_memory || (cuts && !place.fanout.together[kInput])) {
    for (Loop& each : chain.loops) each.apart_from = std::min(each.apart_from, element);
  }
  if (!cuts) return Verdict::ok;
  if (place.is_memory) {
    movers_.push_back(
        {static_cast<LoopId>(loop.dim), static_cast<int>(chain.loops.size()), element});
  } else {
    used_[element] *= static_cast<double>(ceil_div(box, loop.tile));
    if (used_[element] > static_cast<double>(place.fanout.size)) return Verdict::fanout_exceeded;
    even_ = even_ && divided_[loop.dim] && box % loop.tile == 0;
  }
  chain.loops.push_back({loop.tile, element, !place.is_memory});
  divided_[loop.dim] = divided_[loop.dim] && box % loop.tile == 0;
  box = loop.tile;
  return Verdict::ok;
}

// What is still larger than one is executed MAC by MAC: S is the fastest (H2).
void Nest::add_rest() {
  const int rest = accelerator_.rest();
  for (int d = 0; d < kLoops; ++d) {
    if (box_[d] == 1) continue;
    for (Loop& each : chains_[d].loops) each.apart_from = std::min(each.apart_from, rest);
    movers_.push_back({static_cast<LoopId>(d), static_cast<int>(chains_[d].loops.size()), rest});
    chains_[d].loops.push_back({1, rest, false});
  }
}

void Nest::count_above() {
  for (Chain& chain : chains_) {
    if (chain.loops.empty() && chain.above[accelerator_.mac()] == 0) continue;
    chain.above.fill(0);
    std::uint8_t count = 0;
    for (const Loop& loop : chain.loops) {
      ++count;
      for (int e = loop.element + 1; e <= accelerator_.mac(); ++e) chain.above[e] = count;
    }
  }
  spatial_above_[0] = 0;
  for (int e = 0; e < accelerator_.rest(); ++e) {
    spatial_above_[e + 1] = spatial_above_[e] + (used_[e] > 1 ? 1 : 0);
  }
  spatial_above_[accelerator_.mac()] = spatial_above_[accelerator_.rest()];
}

std::int64_t Nest::units_above(int element) const {
  std::int64_t units = 1;
  for (int e = 0; e < std::min(element, accelerator_.rest()); ++e) {
    units *= static_cast<std::int64_t>(used_[e]);
  }
  return units;
}

double Nest::units_estimate() const {
  double units = 1;
  for (const double each : used_) units *= each;
  return units;
}

}  // namespace gym::hierarchy
