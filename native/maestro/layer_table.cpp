#include "layer_table.hpp"

#include "../integers.hpp"

namespace gym::maestro {

namespace {

void add_input_axis(LayerTable& table, Dim axis, Dim other_axis) {
  const Dim window = window_of(axis);
  table.extent[axis] =
      wrap32(std::int64_t{table.extent[output_axis(axis)]} + table.extent[window] - 1);
  // Quirk Q20: the strides of the two axes are exchanged.
  table.stride[axis] = table.stride[output_axis(other_axis)];
  table.present |= bit(axis);
  if (!table.has(window)) table.undefined |= bit(axis);
}

void add_axes(LayerTable& table) {
  for (const Dim axis : {kY, kX}) {
    const Dim other_axis = axis == kY ? kX : kY;
    if (table.has(axis)) {
      table.present |= bit(output_axis(axis));
    } else if (table.has(output_axis(axis))) {
      add_input_axis(table, axis, other_axis);
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
  if (table.slides) add_axes(table);
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

}  // namespace gym::maestro
