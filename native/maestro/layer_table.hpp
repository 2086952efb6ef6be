// The dimension table MAESTRO derives from a layer (specification S3).
#pragma once

#include "../core/layer.hpp"
#include "../core/status.hpp"

namespace gym::maestro {

struct LayerTable {
  DimSet present = 0;
  std::array<std::int32_t, kMaxDims> extent{};
  std::array<std::int32_t, kMaxDims> stride{};
  std::array<Tensor, kTensors> tensors;
  DimSet in_vars = 0;    // dimensions of input and filter
  bool slides = false;   // Y slides with R and X with S
  DimSet undefined = 0;  // dimensions whose extent the binary reads uninitialised

  bool has(Dim dim) const { return (present & bit(dim)) != 0; }

  // The name an output dimension's tile goes by: the primed one of an axis that slides.
  Dim output_tile(Dim dim) const {
    return slides && (dim == kY || dim == kX) ? output_axis(dim) : dim;
  }
};

// `batched`: whether N takes part, which the first layer of a type decides for the whole file.
LayerTable make_layer_table(const Layer& layer, bool batched);

// Words of a whole tensor; of the output, Y and X count the windows' positions.
std::int64_t tensor_words(const LayerTable& table, TensorId id);

// Product of the extents as listed (not derived) over a tensor's dimensions.
std::int64_t listed_words(const Layer& layer, const Tensor& tensor);

}  // namespace gym::maestro
