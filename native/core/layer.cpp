#include "layer.hpp"

#include <algorithm>

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

}  // namespace gym
