// A layer as it is written down, and the loop nest it is.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

namespace gym {

enum class Operator : std::uint8_t { conv, trconv, dsconv, ngconv, gemm };

// Dimensions are small integers. Those of layers are numbered alphabetically, the output axes
// follow (X' and Y', or Q and P, which MAESTRO does not know), then whatever other names a layer
// lists.
using Dim = std::uint8_t;
using DimSet = std::uint32_t;
inline constexpr Dim kC = 0, kG = 1, kK = 2, kM = 3, kN = 4, kR = 5, kS = 6, kX = 7, kY = 8;
inline constexpr Dim kOutX = 9, kOutY = 10, kP = 11, kQ = 12, kFirstOtherDim = 13;
inline constexpr int kMaxDims = 32;
inline constexpr Dim kUnknownDim = kMaxDims - 1;

constexpr DimSet bit(Dim dim) { return DimSet{1} << dim; }

// As it is written down: an operator, the extents of its dimensions, its strides.
struct Layer {
  struct Extent {
    Dim dim;
    std::int32_t value;
  };

  Operator op = Operator::conv;
  std::vector<Extent> extents;                // in the order listed, repeated names included
  std::array<std::int32_t, kMaxDims> stride;  // 1 unless given

  Layer() { stride.fill(1); }
};

enum TensorId { kInput = 0, kFilter = 1, kOutput = 2, kTensors = 3 };

// The dimensions a tensor is indexed by, in MAESTRO's order.
struct Tensor {
  std::array<Dim, 6> dims{};
  int count = 0;
  DimSet set = 0;

  // `batched` adds N in front.
  Tensor(std::initializer_list<Dim> given = {}, bool batched = false);
  bool has(Dim dim) const { return (set & bit(dim)) != 0; }
};

// The three tensors of an operator; `batched` adds N to input and output of a convolution.
std::array<Tensor, kTensors> tensors_of(Operator op, bool batched);

constexpr bool is_convolution(Operator op) { return op != Operator::gemm; }

// The input axis an output axis slides along, and the window that slides: Y with R, X with S.
constexpr Dim output_axis(Dim input_axis) { return input_axis == kY ? kOutY : kOutX; }
constexpr Dim window_of(Dim input_axis) { return input_axis == kY ? kR : kS; }

bool lists(const Layer& layer, Dim dim);

enum LoopId { kLoopN, kLoopG, kLoopK, kLoopC, kLoopP, kLoopQ, kLoopR, kLoopS, kLoops };

using LoopSet = std::uint32_t;
template <typename... Loops>
constexpr LoopSet set_of(Loops... loops) {
  return ((LoopSet{1} << loops) | ...);
}
constexpr bool has(LoopSet set, LoopId id) { return (set >> id & 1) != 0; }

// The loops a tensor's axes are made of. P slides with R and Q with S: the input's axes of one loop
// are these, its other two are those pairs.
inline constexpr LoopSet kInputSingles = set_of(kLoopN, kLoopG, kLoopC);
inline constexpr LoopSet kFilterLoops = set_of(kLoopG, kLoopK, kLoopC, kLoopR, kLoopS);
inline constexpr LoopSet kOutputLoops = set_of(kLoopN, kLoopG, kLoopK, kLoopP, kLoopQ);

// Rows (columns) that `outputs` windows of `taps` touch, one every stride (E1).
constexpr std::int64_t touched_rows(std::int64_t outputs, std::int64_t taps, std::int64_t stride) {
  return (outputs - 1) * (stride < taps ? stride : taps) + taps;
}

// The canonical loop nest every layer is: a batched grouped strided convolution (exact model, E1).
struct LoopNest {
  std::array<std::int64_t, kLoops> extent{};
  std::int64_t stride_y = 1;
  std::int64_t stride_x = 1;

  // These wrap around where `macs_estimate` is 2^63 or more.
  std::int64_t macs() const;
  // Distinct words of a tensor that some MAC touches: at most the MACs.
  std::int64_t words(TensorId tensor) const;

  double macs_estimate() const;
};

// The loop each of a layer's own dimensions is, kLoops if none; Y and X (their primed forms too)
// are P and Q.
std::array<LoopId, kMaxDims> loops_of(Operator op);

// The loops of more than one index.
std::vector<LoopId> real_loops(const LoopNest& nest);

// Nothing if a dimension is missing, an extent is not positive or a window exceeds its input.
std::optional<LoopNest> loop_nest(const Layer& layer);

}  // namespace gym
