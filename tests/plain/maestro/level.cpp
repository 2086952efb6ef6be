#include "level.hpp"

#include <algorithm>

#include "../integers.hpp"

namespace gym::maestro {

namespace {

constexpr std::int32_t kNone = -1;

LevelDirective* find_first(Level& level, Dim dim) {
  for (LevelDirective& directive : level.directives) {
    if (directive.dim == dim) return &directive;
  }
  return nullptr;
}

const LevelDirective* find_last(const Level& level, Dim dim) {
  for (auto it = level.directives.rbegin(); it != level.directives.rend(); ++it) {
    if (it->dim == dim) return &*it;
  }
  return nullptr;
}

// S4.2 step 1: an output axis alone becomes its input axis. False if a value is undefined.
bool convert_lone_output_axes(Level& level) {
  bool defined = true;
  for (const Dim axis : {kX, kY}) {
    LevelDirective* given = find_first(level, output_axis(axis));
    if (given == nullptr || find_first(level, axis) != nullptr) continue;
    const LevelDirective* window = find_last(level, window_of(axis));
    if (window == nullptr) defined = false;
    const std::int32_t window_size = window != nullptr ? window->size : 0;
    const std::int32_t outputs = find_last(level, output_axis(axis))->size;
    given->dim = axis;
    given->size = wrap32(std::int64_t{outputs} + window_size - 1);
  }
  return defined;
}

// S4.2 step 2: what the level above cuts and this one does not mention is passed on whole.
void inherit(Level& level, const Level& above) {
  for (const LevelDirective& directive : above.directives) {
    if (find_first(level, directive.dim) != nullptr) continue;
    level.directives.insert(level.directives.begin(),
                            {directive.dim, false, directive.size, directive.offset});
  }
}

// S4.2 step 3: dimensions no directive mentions are not cut.
void unroll(Level& level, DimSet in_vars) {
  for (Dim dim = 0; dim < kFirstOtherDim; ++dim) {
    if ((in_vars & level.present & bit(dim)) == 0 || find_first(level, dim) != nullptr) continue;
    level.directives.push_back({dim, false, level.extent[dim], level.extent[dim]});
  }
}

// S4.2 step 4: tiles of a strided axis shrink to the rows their outputs touch.
Status apply_strides(Level& level, const LayerTable& table, bool below_top) {
  for (std::size_t i = 0; i < level.directives.size(); ++i) {
    const LevelDirective directive = level.directives[i];
    if (directive.dim == kUnknownDim || !level.has(directive.dim)) return Status::reference_exit;
    if (directive.dim != kY && directive.dim != kX) continue;
    const std::int32_t stride = level.stride[directive.dim];
    if (stride == 1) continue;
    if (!table.has(window_of(directive.dim))) return Status::reference_exit;
    const std::int32_t window = table.extent[window_of(directive.dim)];
    if (directive.size < window) continue;
    const std::int32_t outputs = wrap32(std::int64_t{directive.size} + stride - window) / stride;
    LevelDirective* target = find_first(level, directive.dim);
    target->size = wrap32(std::int64_t{outputs} * std::min(stride, window) +
                          std::max(wrap32(std::int64_t{window} - stride), 0));
    const std::int32_t step = below_top && window < stride ? window : stride;
    target->offset = wrap32(std::int64_t{outputs} * step);
    // Only a size that overflows an int gets here.
    if (target->offset == 0) return Status::reference_sigfpe;
  }
  return Status::ok;
}

// S4.2 step 5: output axes beside their input axis become it too. False if a value is undefined.
bool convert_other_output_axes(Level& level) {
  bool defined = true;
  for (LevelDirective& directive : level.directives) {
    if (directive.dim != kOutX && directive.dim != kOutY) continue;
    const Dim axis = directive.dim == kOutX ? kX : kY;
    const LevelDirective* window = find_last(level, window_of(axis));
    if (window == nullptr && axis == kX) defined = false;
    const std::int32_t window_size = window != nullptr ? window->size : 0;
    directive.dim = axis;
    directive.size = wrap32(std::int64_t{directive.size} + window_size - 1);
  }
  return defined;
}

void index_directives(Level& level) {
  level.first.fill(kNone);
  level.last.fill(kNone);
  level.spatial_dims = 0;
  level.spatial = kNone;
  for (int i = 0; i < static_cast<int>(level.directives.size()); ++i) {
    const LevelDirective& directive = level.directives[i];
    level.last[directive.dim] = i;
    if (directive.spatial && level.spatial == kNone) level.spatial = i;
    if (level.first[directive.dim] != kNone) continue;
    level.first[directive.dim] = i;
    if (directive.spatial) level.spatial_dims |= bit(directive.dim);
  }
}

// Needs the index of directives.
void list_factors(Level& level, const LayerTable& table) {
  const Tensor& output = table.tensors[kOutput];
  for (Product& product : level.fetched) product.clear();
  level.outputs.clear();
  level.reductions.clear();
  for (int i = 0; i < static_cast<int>(level.directives.size()); ++i) {
    const LevelDirective& directive = level.directives[i];
    for (const TensorId id : {kInput, kFilter}) {
      if (!table.tensors[id].has(directive.dim)) continue;
      level.fetched[id].add(i, directive.dim, directive.spatial);
    }
    if (!output.has(directive.dim)) level.reductions.add(i, directive.dim, directive.spatial);
  }
  for (int k = 0; k < output.count; ++k) {
    const Dim dim = output.dims[k];
    const bool slides = table.slides && (dim == kY || dim == kX);
    const int i = level.first[dim];
    if (i == kNone) continue;
    level.outputs.add(i, slides ? output_axis(dim) : dim, level.directives[i].spatial);
  }
}

Status complete(Level& level, const Level* above, const LayerTable& table) {
  bool defined = convert_lone_output_axes(level);
  if (above != nullptr) inherit(level, *above);
  unroll(level, table.in_vars);
  const Status strided = apply_strides(level, table, above != nullptr);
  if (strided != Status::ok) return strided;
  defined = convert_other_output_axes(level) && defined;
  if (!defined) return Status::reference_undefined;
  const auto spatial = std::count_if(level.directives.begin(), level.directives.end(),
                                     [](const LevelDirective& d) { return d.spatial; });
  if (spatial < 1 || spatial > 2) return Status::reference_exit;
  index_directives(level);
  list_factors(level, table);
  return Status::ok;
}

// S4.4: units with work in the last round of the spatial loop.
Status count_edge_units(Level& level) {
  const LevelDirective& directive = level.directives[level.spatial];
  const std::int32_t extent = level.extent[directive.dim];
  const std::int32_t size = directive.size;
  const std::int32_t offset = directive.offset;
  const std::int32_t units = level.units;
  const std::int32_t round = wrap32(std::int64_t{offset} * units);
  if (division_traps(extent, round)) return Status::reference_sigfpe;
  const std::int64_t beyond = wrap32(std::int64_t{extent} - size);
  if (extent > wrap32(std::int64_t{offset} * wrap32(std::int64_t{units} - 1) + size)) {
    const std::int64_t steady = (beyond / offset + 1) / units - 1;
    const std::int32_t rest = wrap32(extent - wrap_mul(steady + 1, round));
    level.edge_units =
        rest < size ? 1 : wrap32(std::int64_t{wrap32(std::int64_t{rest} - size)} / offset + 1);
  } else if (extent > size) {
    const std::int64_t busy = beyond / offset + 1;
    const bool partial = wrap32(offset * (busy - 1) + size) < extent;
    level.edge_units = wrap32(busy + (partial ? 1 : 0));
  } else {
    level.edge_units = 1;
  }
  return Status::ok;
}

// S6.1 divides by every offset; that of a derived extent can be 0.
bool has_zero_offset(const Level& level) {
  return std::any_of(level.directives.begin(), level.directives.end(),
                     [](const LevelDirective& each) { return each.offset == 0; });
}

// S6.1 for one directive.
TileSizes tile_sizes(const LevelDirective& directive, std::int32_t extent) {
  const std::int32_t size = directive.size;
  const std::int32_t offset = directive.offset;
  const std::int64_t beyond = wrap32(std::int64_t{extent} - size);
  const std::int64_t steps = std::max<std::int64_t>(beyond / offset, 0);
  const bool partial = wrap32(steps * offset + size) < extent || size > extent;
  std::int32_t rest = wrap32(extent - (steps + 1) * offset);
  if (rest < 0) rest = extent;
  TileSizes tile;
  tile.full = size;
  tile.fresh = !directive.spatial && extent <= size ? 0 : std::min(size, offset);
  tile.edge = partial ? rest : size;
  tile.fresh_edge = std::max(wrap32(std::int64_t{offset} - (std::int64_t{size} - rest)), 0);
  return tile;
}

TileSizes output_tile_sizes(const Level& level, const LevelDirective& directive) {
  const TileSizes& input = level.tiles[directive.dim];
  const TileSizes& window = level.tiles[window_of(directive.dim)];
  TileSizes tile;
  tile.full = wrap32(std::int64_t{input.full} - window.full + 1);
  tile.fresh = std::min(directive.offset, directive.size);
  tile.edge = wrap32(std::int64_t{input.edge} - window.edge + 1);
  tile.fresh_edge = std::min(directive.offset, tile.edge);
  return tile;
}

void size_tiles(Level& level, bool slides) {
  for (const LevelDirective& directive : level.directives) {
    level.tiles[directive.dim] = tile_sizes(directive, level.extent[directive.dim]);
  }
  if (!slides) return;
  for (const LevelDirective& directive : level.directives) {
    if (directive.dim != kY && directive.dim != kX) continue;
    level.tiles[output_axis(directive.dim)] = output_tile_sizes(level, directive);
  }
}

// S4.5: what a unit of `above` receives is the table of the level below.
Status narrow_table(const Level& above, DimSet in_vars, Level& level) {
  level.present = 0;
  for (Dim dim = 0; dim < kFirstOtherDim; ++dim) {
    if ((in_vars & bit(dim)) == 0) continue;
    if (!above.has(dim)) return Status::reference_exit;
    level.present |= bit(dim);
    level.extent[dim] = std::min(above.directives[above.first[dim]].size, above.extent[dim]);
    level.stride[dim] = above.stride[dim];
  }
  return Status::ok;
}

// Units per level and the directives between the Clusters. Wrapping products of cluster sizes are
// the binary's.
Status split(const Mapping& mapping, std::int32_t num_pes, int nocs, Levels& levels) {
  std::int64_t clusters = 0;
  std::int32_t product = 1;
  for (const Directive& directive : mapping) {
    if (directive.kind == Directive::Kind::malformed) return Status::reference_segv;
    if (directive.kind != Directive::Kind::cluster) continue;
    ++clusters;
    product = wrap32(std::int64_t{product} * directive.size);
  }
  if (clusters > nocs) return Status::reference_exit;
  if (clusters == nocs) return Status::reference_abort;
  if (division_traps(num_pes, product)) return Status::reference_sigfpe;
  levels.count = 1;
  Level* level = &levels.level[0];
  level->directives.clear();
  level->units = num_pes / product;
  for (const Directive& directive : mapping) {
    if (directive.kind == Directive::Kind::cluster) {
      level = &levels.level[levels.count++];
      level->directives.clear();
      level->units = directive.size;
    } else {
      level->directives.push_back({directive.dim, directive.kind == Directive::Kind::spatial,
                                   directive.size, directive.offset});
    }
  }
  return Status::ok;
}

}  // namespace

void Product::clear() {
  temporal.clear();
  spatial.clear();
}

void Product::add(int directive, Dim tile, bool is_spatial) {
  (is_spatial ? spatial : temporal).push_back({directive, tile});
}

Status build_levels(const LayerTable& table, const Mapping& mapping, std::int32_t num_pes, int nocs,
                    Levels& levels) {
  Status status = split(mapping, num_pes, nocs, levels);
  if (status != Status::ok) return status;
  bool divides_by_zero = false;
  for (int j = 0; j < levels.count; ++j) {
    Level& level = levels.level[j];
    const Level* above = j > 0 ? &levels.level[j - 1] : nullptr;
    if (above == nullptr) {
      level.present = table.present;
      level.extent = table.extent;
      level.stride = table.stride;
    } else {
      status = narrow_table(*above, table.in_vars, level);
      if (status != Status::ok) return status;
    }
    status = complete(level, above, table);
    if (status != Status::ok) return status;
    status = count_edge_units(level);
    if (status != Status::ok) return status;
    if (has_zero_offset(level)) {
      divides_by_zero = true;
    } else {
      size_tiles(level, table.slides);
    }
  }
  // A tensor's dimension nothing lists is looked up in vain.
  for (const Tensor& tensor : table.tensors) {
    if ((tensor.set & ~levels.level[0].present) != 0) return Status::reference_exit;
  }
  if ((table.undefined & table.in_vars) != 0) return Status::reference_undefined;
  // The binary builds all levels before it sizes tiles.
  return divides_by_zero ? Status::reference_sigfpe : Status::ok;
}

}  // namespace gym::maestro
