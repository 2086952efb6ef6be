// Reads a layer, a machine and directive lists from any bytes: all zeros once they run out.
#pragma once

#include <cstdint>
#include <vector>

#include "../../native/core/hardware.hpp"
#include "../../native/core/map_space.hpp"

namespace driver {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}

  bool left() const { return next_ < end_; }
  std::uint8_t byte() { return left() ? *next_++ : 0; }
  bool rarely() { return byte() == 255; }
  std::int32_t below(std::int32_t bound) { return byte() % bound; }

  std::int32_t any() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return static_cast<std::int32_t>(value);
  }

  // Mostly of a size layers have, sometimes any number at all.
  std::int32_t size() {
    const std::int32_t kind = byte();
    if (kind < 192) return 1 + kind % 48;
    return kind < 248 ? 1 + 8 * below(256) : any();
  }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

struct Problem {
  gym::Layer layer;
  gym::Hardware hardware;
  std::vector<gym::Mapping> mappings;
};

namespace detail {

inline constexpr int kMostMappings = 3;
// The cases of a level, which maestro walks as the binary does, double with every loop.
inline constexpr int kMostLoops = 10;
inline constexpr int kMostClusters = 6;
// One dimension more than operators and output axes have, ...
inline constexpr int kDims = gym::kFirstOtherDim + 1;
// ... and in directives one that no layer has.
inline gym::Dim any_dim(Bytes& bytes) {
  const std::int32_t dim = bytes.below(kDims + 1);
  return dim == kDims ? gym::kUnknownDim : static_cast<gym::Dim>(dim);
}

inline std::vector<gym::Dim> dims_of(gym::Operator op) {
  using namespace gym;
  switch (op) {
    case Operator::gemm:
      return {kM, kN, kK};
    case Operator::dsconv:
      return {kC, kR, kS, kY, kX};
    case Operator::ngconv:
      return {kG, kK, kC, kR, kS, kY, kX};
    default:
      return {kK, kC, kR, kS, kY, kX};
  }
}

inline std::int32_t extent_of(const gym::Layer& layer, gym::Dim dim) {
  for (const gym::Layer::Extent& each : layer.extents) {
    if (each.dim == dim) return each.value;
  }
  return 1;
}

inline gym::Layer read_layer(Bytes& bytes) {
  gym::Layer layer;
  layer.op = static_cast<gym::Operator>(bytes.below(5));
  const bool outputs = bytes.below(4) == 3;
  for (const gym::Dim dim : dims_of(layer.op)) {
    std::int32_t extent = bytes.size();
    const bool axis = gym::is_convolution(layer.op) && (dim == gym::kY || dim == gym::kX);
    // Most windows fit into their input.
    if (axis && !outputs && extent < 4096) {
      extent += extent_of(layer, gym::window_of(dim)) & 0xffff;
    }
    layer.extents.push_back({axis && outputs ? gym::output_axis(dim) : dim, extent});
  }
  for (int more = bytes.below(8) - 5; more > 0; --more) {
    layer.extents.push_back({static_cast<gym::Dim>(bytes.below(kDims)), bytes.size()});
  }
  for (const gym::Dim axis : {gym::kY, gym::kX}) {
    layer.stride[axis] = bytes.rarely() ? bytes.any() : 1 + bytes.below(4);
  }
  return layer;
}

inline gym::Hardware read_hardware(Bytes& bytes) {
  gym::Hardware hardware;
  // The drop-in adds up PEs one at a time, as the binary does: a billion would take seconds.
  hardware.num_pes = bytes.rarely() ? bytes.any() / 4096 : 1 << bytes.below(12);
  hardware.simd_lanes = bytes.size();
  hardware.noc_bw = bytes.size();
  hardware.noc_latency = bytes.rarely() ? bytes.any() : bytes.below(8);
  hardware.offchip_bw = bytes.size();
  if (bytes.below(4) == 3) hardware.l1_bytes = bytes.any();
  if (bytes.below(4) == 3) hardware.l2_bytes = bytes.any();
  if (bytes.rarely()) hardware.energies.noc_macs = hardware.energies.offchip_macs = bytes.any();
  return hardware;
}

inline gym::Directive read_directive(Bytes& bytes, const gym::Layer& layer) {
  using Kind = gym::Directive::Kind;
  const std::int32_t kind = bytes.below(16);
  if (kind >= 14) {
    const std::int32_t units = bytes.rarely() ? bytes.any() : 1 + bytes.below(16);
    return {kind == 15 && bytes.rarely() ? Kind::malformed : Kind::cluster, 0, units, units};
  }
  const std::size_t index = bytes.byte() & 15;
  const gym::Dim dim = index < layer.extents.size() ? layer.extents[index].dim : any_dim(bytes);
  const std::int32_t size = bytes.below(4) == 3 ? bytes.size() : extent_of(layer, dim);
  const std::int32_t tile = bytes.below(2) == 0 ? size : 1 + (bytes.byte() & 15);
  const std::int32_t offset = bytes.below(8) == 7 ? bytes.size() : tile;
  return {kind < 10 ? Kind::temporal : Kind::spatial, dim, tile, offset};
}

inline gym::Mapping read_mapping(Bytes& bytes, const gym::Layer& layer) {
  gym::Mapping mapping;
  int loops = 0, clusters = 0;
  while (bytes.left() && loops < kMostLoops && clusters < kMostClusters && !bytes.rarely()) {
    const gym::Directive directive = read_directive(bytes, layer);
    const bool cluster = directive.kind >= gym::Directive::Kind::cluster;
    loops = cluster ? 0 : loops + 1;
    clusters += cluster;
    mapping.push_back(directive);
  }
  return mapping;
}

}  // namespace detail

inline Problem read_problem(Bytes bytes) {
  Problem problem{detail::read_layer(bytes), detail::read_hardware(bytes), {}};
  for (int i = 0; i < detail::kMostMappings && bytes.left(); ++i) {
    problem.mappings.push_back(detail::read_mapping(bytes, problem.layer));
  }
  return problem;
}

}  // namespace driver
