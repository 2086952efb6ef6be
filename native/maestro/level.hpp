// What MAESTRO derives from a layer and a mapping: a table of dimensions, and cluster levels.
#pragma once

#include <vector>

#include "../core/layer.hpp"
#include "../core/map_space.hpp"
#include "../core/status.hpp"
#include "cut.hpp"

namespace gym::maestro {

// The dimension table of a layer (S3).
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

struct LevelDirective {
  Dim dim;
  bool spatial;
  std::int32_t size;
  std::int32_t offset;
};

using TileSizes = BasicTile<Count>;

// A level has one spatial directive or two.
inline constexpr int kMaxSpatial = 2;

// Directives between two Clusters, made complete (S4), with the tile sizes that follow from the
// level's own table (S6.1).
struct Level {
  std::int32_t units = 0;       // sub-clusters, or PEs, work is distributed to
  std::int32_t edge_units = 0;  // of them busy in a last, partial round
  std::vector<LevelDirective> directives;
  DimSet present = 0;
  std::array<std::int32_t, kMaxDims> extent{};
  std::array<std::int32_t, kMaxDims> stride{};
  std::array<TileSizes, kMaxDims> tiles{};     // by dimension; output axes by primed name
  std::array<std::int32_t, kMaxDims> first{};  // of a dimension's directives, by index
  std::array<std::int32_t, kMaxDims> last{};
  std::array<std::int32_t, kMaxDims> temporal_count{};
  DimSet spatial_dims = 0;                 // dimensions whose first directive is spatial
  std::array<int, kMaxSpatial> spatial{};  // indices of the spatial directives
  int spatial_count = 0;
  // A bit for each dimension whose whole and remaining tile differ, 0 for the others: a set of bits
  // says which extents a unit of the level below has.
  std::array<std::uint32_t, kMaxDims> remainder_bit{};
  std::uint32_t temporal_remainders = 0;  // those of dimensions whose first directive is temporal

  bool has(Dim dim) const { return (present & bit(dim)) != 0; }
};

// At most this many levels can be built: more clusters than networks-on-chip die.
inline constexpr int kMaxLevels = 7;

struct Levels {
  std::array<Level, kMaxLevels> level;
  int count = 0;
};

// Levels of `mapping` on `num_pes` PEs joined by `nocs` networks, or how the binary dies.
Status build_levels(const LayerTable& table, const Mapping& mapping, std::int32_t num_pes, int nocs,
                    Levels& levels);

}  // namespace gym::maestro
