#include "tiling.hpp"

#include <algorithm>
#include <utility>

namespace gym::exact {

namespace {

using Kind = Directive::Kind;

// Whether a directive stands for no loop at all: K of a depthwise layer, which has none.
bool ignored(Operator op, const Directive& directive) {
  return op == Operator::dsconv && directive.dim == kK && directive.kind == Kind::temporal;
}

// Units of every level; the first level gets what the clusters leave.
Status deal_units(const Mapping& mapping, std::int64_t num_pes, Tiling& tiling) {
  const auto clusters = std::count_if(mapping.begin(), mapping.end(), [](const Directive& each) {
    return each.kind == Kind::cluster;
  });
  if (clusters + 1 > kMaxLevels) return Status::too_many_levels;
  tiling.levels = static_cast<int>(clusters) + 1;
  std::int64_t left = num_pes;
  int j = 0;
  for (const Directive& directive : mapping) {
    if (directive.kind != Kind::cluster) continue;
    left /= directive.size;
    tiling.level[++j].units = directive.size;
  }
  tiling.level[0].units = left;
  return left < 1 ? Status::cluster_exceeds_pes : Status::ok;
}

}  // namespace

Tiler::Tiler(const LoopNest& nest, Operator op) : nest_(nest), op_(op), loop_(loops_of(op)) {}

Status Tiler::check_syntax(const Mapping& mapping, int& problem) const {
  LoopSet seen = 0;
  for (problem = 0; problem < static_cast<int>(mapping.size()); ++problem) {
    const Directive& directive = mapping[problem];
    if (directive.kind == Kind::malformed || directive.size < 1 || directive.offset < 1) {
      return Status::bad_tile;
    }
    if (directive.kind == Kind::cluster) {
      seen = 0;
      continue;
    }
    if (ignored(op_, directive)) continue;
    const LoopId id = loop_[directive.dim];
    if (id == kLoops || has(seen, id)) return Status::bad_tile;
    seen |= set_of(id);
  }
  problem = -1;
  return mapping.empty() ? Status::bad_tile : Status::ok;
}

// E2.3: the outputs or indices of a directive's tile, if it neither skips nor repeats any.
std::optional<std::int64_t> Tiler::tile_size(const Directive& directive,
                                             std::int64_t extent) const {
  const std::int64_t size = directive.size;
  const std::int64_t offset = directive.offset;
  if (!is_convolution(op_) || (directive.dim != kY && directive.dim != kX)) {
    if (size < extent && offset != size) return std::nullopt;
    return std::min(size, extent);
  }
  const bool y = directive.dim == kY;
  const std::int64_t window = nest_.extent[y ? kLoopR : kLoopS];
  const std::int64_t stride = y ? nest_.stride_y : nest_.stride_x;
  if (size < window) return std::nullopt;
  const std::int64_t outputs = (size - window) / stride + 1;
  // Both the literal offset and one in outputs are written in practice.
  if (outputs < extent && offset != outputs * stride && offset != outputs) return std::nullopt;
  return std::min(outputs, extent);
}

Status Tiler::tile(const Mapping& mapping, std::int64_t num_pes, Tiling& tiling,
                   int& problem) const {
  Status status = check_syntax(mapping, problem);
  if (status != Status::ok) return status;
  status = deal_units(mapping, num_pes, tiling);
  if (status != Status::ok) return status;
  const Extents* above = &nest_.extent;
  TiledLevel* level = &tiling.level[0];
  level->open(*above);
  const auto end = static_cast<int>(mapping.size());
  for (problem = 0; problem <= end; ++problem) {
    const bool closes = problem == end || mapping[problem].kind == Kind::cluster;
    if (closes) {
      if (level->spatial == kLoops) return Status::bad_spatial;
      if (problem == end) break;
      above = &level->extent;
      (++level)->open(*above);
      continue;
    }
    const Directive& directive = mapping[problem];
    if (ignored(op_, directive)) continue;
    const LoopId id = loop_[directive.dim];
    const auto size = tile_size(directive, (*above)[id]);
    if (!size) return Status::coverage;
    if (directive.kind == Kind::spatial) {
      if (level->spatial != kLoops) return Status::bad_spatial;
      level->spatial = id;
    }
    level->extent[id] = *size;
    level->cut(id, (*above)[id]);
  }
  problem = -1;
  return Status::ok;
}

bool Tiler::reads(const MapSpace& space) const {
  std::array<bool, kLoops> named{};
  return std::all_of(space.dims.begin(), space.dims.end(), [&](Dim dim) {
    const bool in_rows = is_convolution(op_) && (dim == kY || dim == kX);
    const bool ignored = op_ == Operator::dsconv && dim == kK;
    if (loop_[dim] == kLoops || in_rows || ignored) return false;
    // A loop may have two names, as X' and Q.
    return !std::exchange(named[loop_[dim]], true);
  });
}

bool Tiler::leaves_windows(const MapSpace& space) const {
  for (std::size_t d = 0; d < space.dims.size(); ++d) {
    const LoopId id = loop_[space.dims[d]];
    const bool window = id == kLoopR || id == kLoopS;
    if (window && !space.leaves_whole(d, nest_.extent[id])) return false;
  }
  return true;
}

Status Tiler::size(const MapSpace& space, const MapSpace::Chosen& chosen, std::int64_t num_pes,
                   Tiling& tiling) const {
  if (chosen.cluster > num_pes) return Status::cluster_exceeds_pes;
  tiling.levels = 2;
  tiling.level[0].units = num_pes / chosen.cluster;
  tiling.level[1].units = chosen.cluster;
  for (std::size_t j = 0; j < chosen.level.size(); ++j) {
    const MapSpace::Chosen::Level& from = chosen.level[j];
    TiledLevel& level = tiling.level[j];
    level.spatial = loop_[space.dims[static_cast<std::size_t>(from.parallel)]];
    // Inner tiles are clipped to outer ones already.
    level.extent = nest_.extent;
    for (std::size_t d = 0; d < space.dims.size(); ++d) {
      std::int64_t& extent = level.extent[loop_[space.dims[d]]];
      extent = std::min<std::int64_t>(extent, from.tile[d]);
    }
  }
  return Status::ok;
}

void Tiler::order(const MapSpace& space, const MapSpace::Chosen& chosen, Tiling& tiling) const {
  const Extents* above = &nest_.extent;
  for (std::size_t j = 0; j < chosen.level.size(); ++j) {
    const MapSpace::Order& order = *chosen.level[j].order;
    TiledLevel& level = tiling.level[j];
    level.clear();
    for (std::size_t i = 0; i < space.dims.size(); ++i) {
      const LoopId id = loop_[space.dims[order[i]]];
      level.cut(id, (*above)[id]);
    }
    above = &level.extent;
  }
}

}  // namespace gym::exact
