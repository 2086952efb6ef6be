#include "layer.hpp"

#include <algorithm>
#include <initializer_list>

namespace gym {

void Tensor::add(Dim dim) {
  dims[count++] = dim;
  set |= bit(dim);
}

namespace {

Tensor tensor(std::initializer_list<Dim> dims) {
  Tensor result;
  for (Dim dim : dims) result.add(dim);
  return result;
}

Tensor activation(bool batched, std::initializer_list<Dim> dims) {
  Tensor result;
  if (batched) result.add(kN);
  for (Dim dim : dims) result.add(dim);
  return result;
}

}  // namespace

std::array<Tensor, kTensors> tensors_of(Operator op, bool batched) {
  switch (op) {
    case Operator::conv:
    case Operator::trconv:
      return {activation(batched, {kC, kY, kX}), tensor({kK, kC, kR, kS}),
              activation(batched, {kK, kY, kX})};
    case Operator::dsconv:
      return {activation(batched, {kC, kY, kX}), tensor({kC, kR, kS}),
              activation(batched, {kC, kY, kX})};
    case Operator::ngconv:
      return {activation(batched, {kG, kC, kY, kX}), tensor({kG, kK, kC, kR, kS}),
              activation(batched, {kG, kK, kC, kY, kX})};
    case Operator::gemm:
      return {tensor({kM, kK}), tensor({kK, kN}), tensor({kM, kN})};
  }
  return {};
}

bool lists(const Layer& layer, Dim dim) {
  return std::any_of(layer.extents.begin(), layer.extents.end(),
                     [dim](const Layer::Extent& extent) { return extent.dim == dim; });
}

}  // namespace gym
