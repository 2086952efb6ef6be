#include "volumes.hpp"

#include <algorithm>

namespace gym::maestro {

namespace {

std::int64_t power(std::int64_t base, int exponent) {
  std::int64_t product = 1;
  for (int k = 0; k < exponent; ++k) product = wrap_mul(product, base);
  return product;
}

}  // namespace

void Volumes::prepare(const LayerTable& table, const Level& level, const Level* above) {
  table_ = &table;
  level_ = &level;
  spread_ready_ = 0;
  fixed_edges_ = 0;
  fixed_factors_ = Factors{};
  fixed_reach_ = Reach{};
  open_.clear();
  const std::size_t count = level.directives.size();
  if (directives_.size() < count) {
    directives_.resize(count);
    fetches_.resize(count + 1);
  }
  for (int i = 0; i < static_cast<int>(count); ++i) {
    describe(i, above);
    const Directive& directive = directives_[i];
    const Loop& loop = directive.loop[0];
    if (directive.remainder != 0 || loop.restarts || loop.wheel.count > 1) {
      open_.push_back(i);
    } else {
      fixed_edges_ |= loop.wheel.state[0].edges;
      const bool at_edge = (loop.wheel.state[0].edges & directive.edge) != 0;
      fixed_factors_ = fixed_factors_.times(at_edge ? directive.at_edge : directive.inside);
      fixed_reach_.include(i, directive, loop);
    }
  }
}

void Volumes::describe(int i, const Level* above) {
  const LevelDirective& given = level_->directives[i];
  const Dim dim = given.dim;
  Directive& directive = directives_[i];
  directive.remainder = above != nullptr ? above->remainder_bit[dim] : 0;
  directive.spatial_after = directive.spatial_from = 0;
  for (int k = 0; k < level_->spatial_count; ++k) {
    directive.spatial_after |= static_cast<std::uint8_t>((level_->spatial[k] > i) << k);
    directive.spatial_from |= static_cast<std::uint8_t>((level_->spatial[k] >= i) << k);
  }
  for (const TensorId id : {kInput, kFilter}) directive.fetched[id] = table_->tensors[id].has(dim);
  directive.exits = !given.spatial && level_->tiles[dim].fresh == 0;
  factor(i, directive);
  tabulate(i, above != nullptr ? above->tiles[dim].full : level_->extent[dim], directive,
           directive.loop[0]);
  if (directive.remainder != 0) tabulate(i, above->tiles[dim].edge, directive, directive.loop[1]);
}

// The temporal factors of a dimension, inside and at an edge (S6.5). The last of its directives has
// them.
void Volumes::factor(int i, Directive& directive) const {
  const Dim dim = level_->directives[i].dim;
  directive.edge = 0;
  directive.inside = directive.at_edge = Factors{};
  if (level_->last[dim] != i) return;
  const bool output = table_->tensors[kOutput].has(dim);
  const bool spatial = (level_->spatial_dims & bit(dim)) != 0;
  directive.edge = dimension_edge(level_->remainder_bit[dim]);
  if (output && !spatial) {
    const TileSizes& tile = level_->tiles[table_->output_tile(dim)];
    directive.inside = {tile.full, tile.full};
    directive.at_edge = {tile.edge, tile.edge};
  } else if (!output) {
    const int count = level_->temporal_count[dim];
    directive.inside.macs = power(level_->tiles[dim].full, count);
    directive.at_edge.macs = power(level_->tiles[dim].edge, count);
  }
}

// S5.1, S5.2. Directives of one dimension share the state of the last of them.
void Volumes::tabulate(int i, std::int32_t extent, Directive& directive, Loop& loop) const {
  const LevelDirective& given = level_->directives[i];
  const LoopStates states = loop_states(given, extent, level_->units);
  loop.states = states;
  loop.restarts = false;
  loop.words = loop.fresh = {1, 1};
  Case inside;
  Case at_edge;
  Wheel& wheel = loop.wheel;
  wheel.count = 0;
  if (level_->last[given.dim] == i) {
    loop.restarts = !states.unrolled;
    count_words(i, directive, loop);
    wheel.add({1, 0, states.partial ? directive.edge : 0});
    inside.moving = at_edge.moving = i + 1;
    at_edge.edges = directive.edge;
    for (int k = 0; k < level_->spatial_count; ++k) {
      const bool same = level_->directives[level_->spatial[k]].dim == given.dim;
      if (same) at_edge.edges |= spatial_edge(k);
    }
  } else {
    wheel.add(inside);
  }
  if (states.steady > 0) {
    inside.occurrences = states.steady;
    wheel.add(inside);
  }
  if (states.edge) wheel.add(at_edge);
}

// S6.3: the temporal factors of a fetch.
void Volumes::count_words(int i, const Directive& directive, Loop& loop) const {
  const LevelDirective& given = level_->directives[i];
  const TileSizes& tile = level_->tiles[given.dim];
  const int count = level_->temporal_count[given.dim];
  const std::int64_t words = power(loop.states.partial ? tile.edge : tile.full, count);
  const std::int64_t fresh = given.spatial
                                 ? power(tile.full, count)
                                 : wrap_mul(power(tile.full, count - 1), std::max(tile.fresh, 1));
  for (const TensorId id : {kInput, kFilter}) {
    if (!directive.fetched[id]) continue;
    loop.words[id] = words;
    loop.fresh[id] = fresh;
  }
}

void Volumes::Reach::include(int i, const Directive& directive, const Loop& loop) {
  for (const TensorId id : {kInput, kFilter}) {
    if (loop.restarts && directive.fetched[id]) {
      moved[id] = wrap_mul(words[id], loop.fresh[id]);
      restarting[id] = i;
    } else {
      moved[id] = wrap_mul(moved[id], loop.words[id]);
    }
    words[id] = wrap_mul(words[id], loop.words[id]);
  }
}

Status Volumes::begin(std::uint32_t remainders, std::int64_t& cases) {
  Edges edges = fixed_edges_;
  Reach reach = fixed_reach_;
  turning_.clear();
  for (const int i : open_) {
    const Loop& each = loop(i, remainders);
    reach.include(i, directives_[i], each);
    edges |= each.wheel.state[0].edges;
    if (each.wheel.count > 1) turning_.push_back(i);
  }
  for (int k = 0; k < level_->spatial_count; ++k) {
    const int last = level_->last[level_->directives[level_->spatial[k]].dim];
    if ((remainders & directives_[last].remainder) != 0) edges |= second_extent(k);
  }
  odometer_.start(edges);
  fetches_[0] = {reach.words, {Spread::kResident, Spread::kResident}, false};
  for (const int i : turning_) {
    odometer_.add(loop(i, remainders).wheel);
    fetches_[i + 1] = fetch(i, reach);
  }
  spread_units(remainders, edges & kSpatialEdges);
  return odometer_.size(cases);
}

Volume Volumes::volume(Edges edges) const {
  Factors temporal = fixed_factors_;
  for (const int i : open_) {
    const Directive& directive = directives_[i];
    const bool at_edge = (edges & directive.edge) != 0;
    temporal = temporal.times(at_edge ? directive.at_edge : directive.inside);
  }
  const Spread& units = spread(edges);
  return {wrap_mul(temporal.outputs, units.outputs), wrap_mul(temporal.macs, units.macs),
          wrap_mul(temporal.macs, units.unit_macs)};
}

// S6.3. All loops inside the moving one are at Init, so its index is all that counts. A tensor
// without the dimension is not fetched (quirk Q7).
Volumes::Fetch Volumes::fetch(int i, const Reach& reach) const {
  const Directive& directive = directives_[i];
  Fetch fetch{{0, 0}, {0, 0}, false};
  for (const TensorId id : {kInput, kFilter}) {
    if (!directive.fetched[id]) continue;
    const bool restarted = i < reach.restarting[id];
    fetch.words[id] = restarted ? reach.words[id] : reach.moved[id];
    fetch.fresh[id] = restarted ? directive.spatial_after : directive.spatial_from;
    fetch.exits = fetch.exits || (!restarted && directive.exits);
  }
  return fetch;
}

// Prepares the spreads the chosen extents can need; `extents` are their spatial edges at Init.
void Volumes::spread_units(std::uint32_t remainders, Edges extents) {
  std::array<const LoopStates*, kMaxSpatial> states{};
  Edges can_end = 0;
  for (int k = 0; k < level_->spatial_count; ++k) {
    const int last = level_->last[level_->directives[level_->spatial[k]].dim];
    states[k] = &loop(last, remainders).states;
    if (states[k]->edge) can_end |= spatial_edge(k);
  }
  for (Edges ended = can_end;; ended = (ended - 1) & can_end) {
    const Edges index = extents | ended;
    if ((spread_ready_ >> index & 1) == 0) {
      spread_ready_ |= std::uint32_t{1} << index;
      Standings standings;
      for (int k = 0; k < level_->spatial_count; ++k) {
        const bool at_end = (ended & spatial_edge(k)) != 0;
        const bool ragged = states[k]->ragged && (at_end || states[k]->partial);
        standings[k] = {states[k]->partial, at_end, ragged};
      }
      spreads_[index] = spread_work(*table_, *level_, standings);
    }
    if (ended == 0) break;
  }
}

}  // namespace gym::maestro
