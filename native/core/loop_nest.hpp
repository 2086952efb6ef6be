// The canonical loop nest every layer is: a batched grouped strided convolution (exact model, E1).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "layer.hpp"

namespace gym {

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
