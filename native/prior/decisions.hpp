// The decisions that make a mapping, one after the other, and what is known of them.
//
// A policy first chooses the parallel loops, outer and inner, then the tile that the PEs of a
// cluster share in, the cluster size, the other tiles of L2, those of L1, and last the orders, from
// the innermost loop outwards.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../core/elementary.hpp"
#include "../core/hardware.hpp"
#include "../core/layer.hpp"
#include "../core/map_space.hpp"
#include "../evaluate/masks.hpp"

namespace gym::prior {

using Extents = std::array<std::int64_t, kLoops>;

// Each decision has a network of its own, those of tiles one for each loop.
enum : int {
  kOuterParallel,
  kInnerParallel,
  kDealtTile,  // of L2, of the inner parallel loop
  kCluster,
  kOuterTile,
  kInnerTile = kOuterTile + int{kLoops},
  kOuterOrder = kInnerTile + int{kLoops},
  kInnerOrder,
  kDecisions
};

// Numbers that describe what was chosen so far, and an option.
inline constexpr int kStateSize = 8 * kLoops + 10;
inline constexpr int kFeatures = 20;
inline constexpr int kMaxOptions = 64;

struct Step {
  int decision;
  std::size_t level;
  std::size_t dim;  // of a tile; the dealt one's depends on what was chosen before
};

// What may be chosen in a step.
struct Options {
  int count = 0;
  std::array<std::int64_t, kMaxOptions> value;  // a size, or a dimension by its index in the space
  std::array<std::array<float, kFeatures>, kMaxOptions> features;

  void add(std::int64_t each) {
    if (count < kMaxOptions) value[static_cast<std::size_t>(count++)] = each;
  }
};

// A mapping on its way.
struct Partial {
  std::vector<std::int32_t> point;  // choices; where open, those that need least of the buffers
  std::array<LoopId, 2> parallel{kLoops, kLoops};
  std::array<std::int64_t, 2> units{1, 1};
  std::array<Extents, 2> tile{};
  // Dimensions in the order chosen, innermost first.
  std::array<std::vector<std::uint8_t>, 2> order;
};

class Decisions {
 public:
  Decisions(const LoopNest& nest, Operator op, const Hardware& hardware, Masks& masks);

  const std::vector<Step>& steps() const { return steps_; }
  Partial begin() const;
  // What may be chosen; nothing where all was decided before.
  void list(const Step& step, const Partial& partial, Options& options);
  void take(const Step& step, std::int64_t value, Partial& partial) const;
  // Writes the orders.
  void finish(Partial& partial) const;
  // Goes on from a step to the next one that leaves a choice, whose options are listed. Where there
  // is none, nothing is, and the mapping is finished.
  std::size_t advance(std::size_t at, Partial& partial, Options& options);
  // What a complete point chooses in this step, as near as the options come.
  int chosen(const Step& step, const Partial& partial, const std::int32_t* point,
             const Options& options) const;
  // Writes the features of all options, and of what is chosen so far.
  void describe(const Step& step, const Partial& partial, Options& options, float* state) const;

 private:
  struct Need {
    float l1, l2;  // octaves above the capacity
  };

  const MapSpace& space() const { return masks_.space(); }
  LoopId loop(std::size_t dim) const { return loop_[dim]; }
  std::size_t dim_of(const Step& step, const Partial& partial) const;
  bool is_dealt_before(const Step& step, const Partial& partial) const;
  const Choice& choice(const Step& step, const Partial& partial) const;
  // Indices of a loop that a level is given, and how often the level passes over its chunks.
  std::int64_t above(std::size_t level, LoopId id, const Partial& partial) const {
    return level == 0 ? nest_.extent[id] : partial.tile[0][id];
  }
  std::int64_t passes(std::size_t level, LoopId id, const Partial& partial) const;
  std::vector<std::uint8_t> loops_to_order(std::size_t level, const Partial& partial) const;
  void list_sizes(const Step& step, const Partial& partial, std::int64_t most,
                  Options& options) const;
  // Steps of the outer parallel loop if its tiles are as small as can be.
  std::int64_t outer_work(const Partial& partial) const;
  void list_clusters(const Partial& partial, std::int64_t least, Options& options) const;
  // Of mappings with these tiles; L2 holds two tiles of each tensor.
  Need need(const Partial& partial, const std::array<Extents, 2>& tile) const;

  void describe_state(const Step& step, const Partial& partial, float* state) const;
  void describe_parallel(const Step& step, const Partial& partial, Options& options) const;
  void describe_clusters(const Partial& partial, Options& options) const;
  void describe_tiles(const Step& step, const Partial& partial, Options& options) const;
  void describe_loops(const Step& step, const Partial& partial, Options& options) const;

  LoopNest nest_;
  Hardware hardware_;
  Masks& masks_;
  std::vector<LoopId> loop_;  // by dimension of the space
  std::vector<Step> steps_;
};

}  // namespace gym::prior
