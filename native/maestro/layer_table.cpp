#include "layer_table.hpp"

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

}  // namespace gym::maestro
