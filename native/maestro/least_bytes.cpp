#include "least_bytes.hpp"

#include <algorithm>
#include <limits>

#include "../core/layer.hpp"
#include "cut.hpp"

namespace gym::maestro {

LeastBytes::LeastBytes(const Layer& layer, const LayerTable& table, const Hardware& hardware)
    : table_(table),
      hardware_(hardware),
      strided_(table.slides && (table.stride[kY] != 1 || table.stride[kX] != 1)) {
  // Of every tensor the words of all units, at most the MACs, are added up over at most 3^8 steps.
  const std::optional<LoopNest> nest = loop_nest(layer);
  countable_ = nest && nest->macs_estimate() < 0x1p46;
  for (const Dim axis : {kY, kX}) {
    const std::int64_t rows = std::int64_t{table.extent[axis]} + table.stride[axis];
    countable_ &= rows <= std::numeric_limits<std::int32_t>::max();
  }
}

bool LeastBytes::may_fit(const MapSpace& space, const MapSpace::Chosen& chosen) const {
  if (!countable_) return true;
  const Sizes outer = sizes(space, chosen.level[0]);
  const Sizes inner = sizes(space, chosen.level[1]);
  const Dim spatial = space.dims[static_cast<std::size_t>(chosen.level[0].parallel)];
  const std::int64_t units = hardware_.num_pes / chosen.cluster;
  std::int64_t l1 = 0, l2 = 0;
  for (const TensorId id : {kInput, kFilter, kOutput}) {
    l1 += 2 * tile_words(inner, id);
    // What the binary makes of strides has no such bound.
    if (!strided_) l2 += 2 * array_words(outer, spatial, units, id);
  }
  return hardware_.check_capacities(real(l1), real(l2)) == Status::ok;
}

// S4.2; of the table, not of the level, where the space leaves a dimension out.
LeastBytes::Sizes LeastBytes::sizes(const MapSpace& space,
                                    const MapSpace::Chosen::Level& level) const {
  Sizes sizes;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) sizes[dim] = table_.extent[dim];
  for (std::size_t d = 0; d < space.dims.size(); ++d) sizes[space.dims[d]] = level.tile[d];
  if (!table_.slides) return sizes;
  for (const Dim axis : {kY, kX}) {
    const Count window = table_.extent[window_of(axis)];
    const Count rows = sizes[output_axis(axis)] + sizes[window_of(axis)] - 1;
    const Count stride = table_.stride[axis];
    sizes[axis] = stride == 1 ? rows : shrink_tile<Count>(rows, stride, window, false).size;
  }
  return sizes;
}

// The output's by input rows and columns too (S7 step 1).
std::int64_t LeastBytes::tile_words(const Sizes& tile, TensorId id) const {
  const Tensor& tensor = table_.tensors[id];
  std::int64_t words = 1;
  for (int k = 0; k < tensor.count; ++k) words *= tile[tensor.dims[k]];
  return words;
}

// Words that the units of a level have at first (S6.4), without what neighbours have in common.
std::int64_t LeastBytes::array_words(const Sizes& tile, Dim spatial, std::int64_t units,
                                     TensorId id) const {
  const Tensor& tensor = table_.tensors[id];
  std::int64_t words = 1;
  for (int k = 0; k < tensor.count; ++k) {
    const Dim dim = tensor.dims[k];
    const Dim outputs = table_.output_tile(dim);
    const bool slides = outputs != dim;
    const std::int64_t halo = slides ? tile[window_of(dim)] - 1 : 0;
    std::int64_t size = tile[outputs];
    if (outputs == spatial) {
      // The last of several units may not be counted among the outputs; the others have half.
      const std::int64_t all = table_.extent[dim] - halo;
      const bool dropped = id == kOutput && !slides;
      size = std::max(size, std::min(size * units, dropped ? (all + 1) / 2 : all));
    }
    words *= size + (id == kInput ? halo : 0);
  }
  return words;
}

}  // namespace gym::maestro
