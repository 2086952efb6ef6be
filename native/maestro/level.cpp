#include "level.hpp"

#include <algorithm>

#include "../core/integers.hpp"

namespace gym::maestro {

namespace {

std::int32_t last_extent(const Layer& layer, Dim dim) {
  const auto found = std::find_if(layer.extents.rbegin(), layer.extents.rend(),
                                  [dim](const Layer::Extent& each) { return each.dim == dim; });
  return found == layer.extents.rend() ? 0 : found->value;
}

// An input axis derived from its output axis.
void add_input_axis(const Layer& layer, Dim axis, LayerTable& table) {
  const Dim window = window_of(axis);
  const Dim other = output_axis(axis == kY ? kX : kY);
  table.extent[axis] =
      wrap32(std::int64_t{last_extent(layer, output_axis(axis))} + last_extent(layer, window) - 1);
  // Quirk Q20: the strides of the two axes are exchanged.
  table.stride[axis] = table.stride[other];
  table.present |= bit(axis);
  if (!table.has(window)) table.undefined |= bit(axis);
}

void add_axes(const Layer& layer, LayerTable& table) {
  const DimSet given = table.present;
  for (const Dim axis : {kY, kX}) {
    if ((given & bit(axis)) != 0) {
      table.present |= bit(output_axis(axis));
    } else if ((given & bit(output_axis(axis))) != 0) {
      if ((given & bit(output_axis(axis == kY ? kX : kY))) == 0) table.undefined |= bit(axis);
      add_input_axis(layer, axis, table);
    }
  }
}

}  // namespace

LayerTable make_layer_table(const Layer& layer, bool batched) {
  LayerTable table;
  for (const Layer::Extent& extent : layer.extents) {
    if (table.has(extent.dim)) continue;
    table.present |= bit(extent.dim);
    table.extent[extent.dim] = extent.value;
  }
  table.stride = layer.stride;
  table.slides = is_convolution(layer.op);
  if (table.slides) add_axes(layer, table);
  table.tensors = tensors_of(layer.op, batched);
  table.in_vars = table.tensors[kInput].set | table.tensors[kFilter].set;
  return table;
}

std::int64_t listed_words(const Layer& layer, const Tensor& tensor) {
  std::int64_t words = 1;
  for (const Layer::Extent& extent : layer.extents) {
    if (tensor.has(extent.dim)) words = wrap_mul(words, extent.value);
  }
  return words;
}

std::int64_t tensor_words(const LayerTable& table, TensorId id) {
  const Tensor& tensor = table.tensors[id];
  std::int64_t words = 1;
  for (int k = 0; k < tensor.count; ++k) {
    const Dim dim = tensor.dims[k];
    std::int64_t size = table.extent[dim];
    if (id == kOutput && table.output_tile(dim) != dim) {
      size = wrap32(size - table.extent[window_of(dim)] + 1);
    }
    words = wrap_mul(words, size);
  }
  return words;
}

namespace {

constexpr std::int32_t kNone = -1;

DimSet listed(const Level& level) {
  DimSet dims = 0;
  for (const LevelDirective& directive : level.directives) dims |= bit(directive.dim);
  return dims;
}

// Where the directives of each dimension are: where there are none, as `listed` says, this is old.
void locate(Level& level) {
  const int count = static_cast<int>(level.directives.size());
  for (int i = 0; i < count; ++i) level.last[level.directives[i].dim] = i;
  for (int i = count; i-- > 0;) level.first[level.directives[i].dim] = i;
}

// Of a dimension's last directive, 0 if there is none; `dims` are those listed and located.
std::int32_t last_size(const Level& level, DimSet dims, Dim dim) {
  return (dims & bit(dim)) != 0 ? level.directives[level.last[dim]].size : 0;
}

// S4.2 step 1: an output axis alone becomes its input axis. False if a value is undefined.
bool convert_lone_output_axes(Level& level) {
  bool defined = true;
  const DimSet dims = listed(level);
  if ((dims & (bit(kOutX) | bit(kOutY))) == 0) return true;
  locate(level);
  for (const Dim axis : {kX, kY}) {
    if ((dims & bit(output_axis(axis))) == 0 || (dims & bit(axis)) != 0) continue;
    if ((dims & bit(window_of(axis))) == 0) defined = false;
    LevelDirective& given = level.directives[level.first[output_axis(axis)]];
    given.size = wrap32(std::int64_t{last_size(level, dims, output_axis(axis))} +
                        last_size(level, dims, window_of(axis)) - 1);
    given.dim = axis;
  }
  return defined;
}

// S4.2 step 2: what the level above cuts and this one does not mention is passed on whole.
void inherit(Level& level, const Level& above) {
  DimSet dims = listed(level);
  for (const LevelDirective& directive : above.directives) {
    if ((dims & bit(directive.dim)) != 0) continue;
    dims |= bit(directive.dim);
    level.directives.insert(level.directives.begin(),
                            {directive.dim, false, directive.size, directive.offset});
  }
}

// S4.2 step 3: dimensions no directive mentions are not cut.
void unroll(Level& level, DimSet in_vars) {
  const DimSet missing = in_vars & level.present & ~listed(level);
  for (Dim dim = 0; missing >> dim != 0; ++dim) {
    if ((missing & bit(dim)) == 0) continue;
    level.directives.push_back({dim, false, level.extent[dim], level.extent[dim]});
  }
}

// S4.2 step 4: tiles of a strided axis shrink to the rows their outputs touch.
Status apply_strides(Level& level, const LayerTable& table, bool below_top) {
  const auto has_stride = [&](Dim axis) { return level.has(axis) && level.stride[axis] != 1; };
  if (!has_stride(kY) && !has_stride(kX)) {
    const DimSet known = level.present & ~bit(kUnknownDim);
    return (listed(level) & ~known) != 0 ? Status::reference_exit : Status::ok;
  }
  locate(level);
  for (std::size_t i = 0; i < level.directives.size(); ++i) {
    const LevelDirective directive = level.directives[i];
    if (directive.dim == kUnknownDim || !level.has(directive.dim)) return Status::reference_exit;
    if (directive.dim != kY && directive.dim != kX) continue;
    const std::int32_t stride = level.stride[directive.dim];
    if (stride == 1) continue;
    if (!table.has(window_of(directive.dim))) return Status::reference_exit;
    const std::int32_t window = table.extent[window_of(directive.dim)];
    if (directive.size < window) continue;
    const BasicStride<Count> shrunk = shrink_tile<Count>(directive.size, stride, window, below_top);
    LevelDirective& target = level.directives[level.first[directive.dim]];
    target.size = wrap32(shrunk.size);
    target.offset = wrap32(shrunk.offset);
    // Only a size that overflows an int gets here.
    if (target.offset == 0) return Status::reference_sigfpe;
  }
  return Status::ok;
}

// S4.2 step 5: output axes beside their input axis become it too. False if a value is undefined.
bool convert_other_output_axes(Level& level) {
  bool defined = true;
  const DimSet dims = listed(level);
  if ((dims & (bit(kOutX) | bit(kOutY))) == 0) return true;
  locate(level);
  for (LevelDirective& directive : level.directives) {
    if (directive.dim != kOutX && directive.dim != kOutY) continue;
    const Dim axis = directive.dim == kOutX ? kX : kY;
    if ((dims & bit(window_of(axis))) == 0 && axis == kX) defined = false;
    directive.dim = axis;
    directive.size =
        wrap32(std::int64_t{directive.size} + last_size(level, dims, window_of(axis)) - 1);
  }
  return defined;
}

// False unless one or two directives are spatial.
bool index_directives(Level& level) {
  level.first.fill(kNone);
  level.last.fill(kNone);
  level.temporal_count.fill(0);
  locate(level);
  level.spatial_dims = 0;
  level.spatial_count = 0;
  for (int i = 0; i < static_cast<int>(level.directives.size()); ++i) {
    const LevelDirective& directive = level.directives[i];
    level.temporal_count[directive.dim] += directive.spatial ? 0 : 1;
    if (!directive.spatial) continue;
    if (level.spatial_count == kMaxSpatial) return false;
    level.spatial[level.spatial_count++] = i;
    if (level.first[directive.dim] == i) level.spatial_dims |= bit(directive.dim);
  }
  return level.spatial_count > 0;
}

Status complete(Level& level, const Level* above, const LayerTable& table) {
  bool defined = convert_lone_output_axes(level);
  if (above != nullptr) inherit(level, *above);
  unroll(level, table.in_vars);
  const Status strided = apply_strides(level, table, above != nullptr);
  if (strided != Status::ok) return strided;
  defined = convert_other_output_axes(level) && defined;
  if (!defined) return Status::reference_undefined;
  return index_directives(level) ? Status::ok : Status::reference_exit;
}

// S4.4: of the spatial loop.
Status count_edge_units(Level& level) {
  const LevelDirective& directive = level.directives[level.spatial[0]];
  const std::int32_t extent = level.extent[directive.dim];
  const std::int32_t round = wrap32(std::int64_t{directive.offset} * level.units);
  if (division_traps(extent, round)) return Status::reference_sigfpe;
  level.edge_units =
      wrap32(edge_units<Count>(directive.size, directive.offset, level.units, extent));
  return Status::ok;
}

// S6.1 divides by every offset; that of a derived extent can be 0.
bool has_zero_offset(const Level& level) {
  return std::any_of(level.directives.begin(), level.directives.end(),
                     [](const LevelDirective& each) { return each.offset == 0; });
}

void size_tiles(Level& level, bool slides) {
  for (const LevelDirective& each : level.directives) {
    level.tiles[each.dim] =
        cut_tile<Count>(each.size, each.offset, level.extent[each.dim], each.spatial);
  }
  if (!slides) return;
  for (const Dim axis : {kY, kX}) {
    if (level.last[axis] == kNone) continue;
    level.tiles[output_axis(axis)] = cut_outputs<Count>(
        level.tiles[axis], level.directives[level.last[axis]].offset, level.tiles[window_of(axis)]);
  }
}

void number_remainders(Level& level, const LayerTable& table) {
  std::uint32_t next_bit = 1;
  level.temporal_remainders = 0;
  for (int i = 0; i < static_cast<int>(level.directives.size()); ++i) {
    const Dim dim = level.directives[i].dim;
    if (level.last[dim] != i) continue;
    const TileSizes& input = level.tiles[dim];
    const TileSizes& output = level.tiles[table.output_tile(dim)];
    const bool differ = (input.edge != input.full) | (output.edge != output.full);
    const std::uint32_t number = differ ? next_bit : 0;
    const bool temporal = (level.spatial_dims & bit(dim)) == 0;
    level.remainder_bit[dim] = number;
    level.temporal_remainders |= temporal ? number : 0;
    next_bit <<= differ ? 1 : 0;
  }
}

// S4.5: what a unit of `above` receives is the table of the level below.
Status narrow_table(const Level& above, DimSet in_vars, Level& level) {
  level.present = 0;
  for (Dim dim = 0; in_vars >> dim != 0; ++dim) {
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
      number_remainders(level, table);
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
