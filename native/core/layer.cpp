#include "layer.hpp"

#include <algorithm>

#include "integers.hpp"

namespace gym {

Tensor::Tensor(std::initializer_list<Dim> given, bool batched) {
  if (batched) dims[count++] = kN;
  for (const Dim dim : given) dims[count++] = dim;
  for (int k = 0; k < count; ++k) set |= bit(dims[k]);
}

std::array<Tensor, kTensors> tensors_of(Operator op, bool batched) {
  switch (op) {
    case Operator::conv:
    case Operator::trconv:
      return {Tensor({kC, kY, kX}, batched), Tensor({kK, kC, kR, kS}),
              Tensor({kK, kY, kX}, batched)};
    case Operator::dsconv:
      return {Tensor({kC, kY, kX}, batched), Tensor({kC, kR, kS}), Tensor({kC, kY, kX}, batched)};
    case Operator::ngconv:
      return {Tensor({kG, kC, kY, kX}, batched), Tensor({kG, kK, kC, kR, kS}),
              Tensor({kG, kK, kC, kY, kX}, batched)};
    case Operator::gemm:
      return {Tensor({kM, kK}), Tensor({kK, kN}), Tensor({kM, kN})};
  }
  return {};
}

bool lists(const Layer& layer, Dim dim) {
  return std::any_of(layer.extents.begin(), layer.extents.end(),
                     [dim](const Layer::Extent& extent) { return extent.dim == dim; });
}

namespace {

std::optional<std::int64_t> extent_of(const Layer& layer, Dim dim) {
  for (const Layer::Extent& extent : layer.extents) {
    if (extent.dim == dim) return extent.value;
  }
  return std::nullopt;
}

// Outputs along Y or X, from input, window and stride, or else as given.
std::int64_t outputs(const Layer& layer, Dim axis, std::int64_t window, std::int64_t stride) {
  const auto input = extent_of(layer, axis);
  if (!input) return extent_of(layer, output_axis(axis)).value_or(0);
  return *input < window ? 0 : (*input - window) / stride + 1;
}

LoopId loop_of(Operator op, Dim dim) {
  if (op == Operator::gemm) {
    return dim == kM ? kLoopP : dim == kK ? kLoopC : dim == kN ? kLoopK : kLoops;
  }
  switch (dim) {
    case kC:
      return op == Operator::dsconv ? kLoopG : kLoopC;
    case kG:
      return op == Operator::ngconv ? kLoopG : kLoops;
    case kK:
      return kLoopK;
    case kN:
      return kLoopN;
    case kR:
      return kLoopR;
    case kS:
      return kLoopS;
    case kX:
    case kOutX:
    case kQ:
      return kLoopQ;
    case kY:
    case kOutY:
    case kP:
      return kLoopP;
    default:
      return kLoops;
  }
}

}  // namespace

std::int64_t LoopNest::macs() const {
  std::int64_t product = 1;
  for (const std::int64_t each : extent) product = wrap_mul(product, each);
  return product;
}

double LoopNest::macs_estimate() const {
  double product = 1;
  for (const std::int64_t each : extent) product *= static_cast<double>(each);
  return product;
}

std::int64_t LoopNest::words(TensorId tensor) const {
  const auto product = [this](LoopSet loops) {
    std::int64_t words = 1;
    for (int d = 0; d < kLoops; ++d) {
      if (has(loops, static_cast<LoopId>(d))) words = wrap_mul(words, extent[d]);
    }
    return words;
  };
  switch (tensor) {
    case kInput: {
      const std::int64_t height = touched_rows(extent[kLoopP], extent[kLoopR], stride_y);
      const std::int64_t width = touched_rows(extent[kLoopQ], extent[kLoopS], stride_x);
      return wrap_mul(product(kInputSingles), wrap_mul(height, width));
    }
    case kFilter:
      return product(kFilterLoops);
    default:
      return product(kOutputLoops);
  }
}

std::array<LoopId, kMaxDims> loops_of(Operator op) {
  std::array<LoopId, kMaxDims> loops;
  for (int dim = 0; dim < kMaxDims; ++dim) loops[dim] = loop_of(op, static_cast<Dim>(dim));
  return loops;
}

std::vector<LoopId> real_loops(const LoopNest& nest) {
  std::vector<LoopId> loops;
  for (int d = 0; d < kLoops; ++d) {
    if (nest.extent[d] > 1) loops.push_back(static_cast<LoopId>(d));
  }
  return loops;
}

std::optional<LoopNest> loop_nest(const Layer& layer) {
  LoopNest nest;
  nest.extent.fill(1);
  const std::array<Tensor, kTensors> tensors = tensors_of(layer.op, lists(layer, kN));
  for (const Tensor& tensor : tensors) {
    for (int k = 0; k < tensor.count; ++k) {
      const Dim dim = tensor.dims[k];
      if (is_convolution(layer.op) && (dim == kY || dim == kX)) continue;
      const auto extent = extent_of(layer, dim);
      if (!extent) return std::nullopt;
      nest.extent[loop_of(layer.op, dim)] = *extent;
    }
  }
  if (is_convolution(layer.op)) {
    nest.stride_y = layer.stride[kY];
    nest.stride_x = layer.stride[kX];
    if (nest.stride_y < 1 || nest.stride_x < 1) return std::nullopt;
    nest.extent[kLoopP] = outputs(layer, kY, nest.extent[kLoopR], nest.stride_y);
    nest.extent[kLoopQ] = outputs(layer, kX, nest.extent[kLoopS], nest.stride_x);
  }
  if (*std::min_element(nest.extent.begin(), nest.extent.end()) < 1) return std::nullopt;
  return nest;
}

}  // namespace gym
