#include "volumes.hpp"

#include <algorithm>

namespace gym::maestro {

namespace {

std::int64_t power(std::int64_t base, int exponent) {
  if (exponent == 1) return base;
  std::int64_t product = 1;
  for (int k = 0; k < exponent; ++k) product = wrap_mul(product, base);
  return product;
}

}  // namespace

void Volumes::prepare(const LayerTable& table, const Level& level, const Level* above) {
  table_ = &table;
  level_ = &level;
  spread_ready_ = 0;
  settled_edges_ = 0;
  settled_factors_ = Factors{};
  settled_reach_ = Reach{};
  open_count_ = 0;
  const std::size_t count = level.directives.size();
  if (open_.size() < count) {
    open_.resize(count);
    fetches_.resize(count + 1);
  }
  for (int i = 0; i < static_cast<int>(count); ++i) {
    Directive& directive = open_[open_count_];
    describe(i, above, directive);
    for (int k = 0; k < level.spatial_count; ++k) {
      if (level.directives[level.spatial[k]].dim != level.directives[i].dim) continue;
      spatial_[k] = {{directive.loop[0].states, directive.loop[1].states}, directive.remainder};
    }
    if (!directive.settled()) {
      ++open_count_;
      continue;
    }
    const Edges edges = directive.loop[0].wheel.state[0].edges;
    settled_edges_ |= edges;
    settled_factors_ = settled_factors_.times(directive.factors[edges != 0 ? 1 : 0]);
    settled_reach_.include(0, directive.loop[0]);
  }
}

void Volumes::describe(int i, const Level* above, Directive& directive) const {
  const LevelDirective& given = level_->directives[i];
  const Dim dim = given.dim;
  const TileSizes& tile = level_->tiles[dim];
  directive.remainder = above != nullptr ? above->remainder_bit[dim] : 0;
  directive.spatial_after = directive.spatial_from = 0;
  for (int k = 0; k < level_->spatial_count; ++k) {
    directive.spatial_after |= static_cast<std::uint8_t>((level_->spatial[k] > i) << k);
    directive.spatial_from |= static_cast<std::uint8_t>((level_->spatial[k] >= i) << k);
  }
  directive.exits = !given.spatial && tile.fresh == 0;
  directive.edge = 0;
  directive.ended = 0;
  directive.factors = {};
  directive.leads = level_->last[dim] == i;
  directive.fetched = {};
  // The last directive of a dimension stands for all: they share its state.
  if (directive.leads) {
    directive.edge = dimension_edge(level_->remainder_bit[dim]);
    for (int k = 0; k < level_->spatial_count; ++k) {
      const bool same = level_->directives[level_->spatial[k]].dim == dim;
      if (same) directive.ended |= spatial_edge(k);
    }
    factor(given, directive);
  }
  tabulate(given, above != nullptr ? above->tiles[dim].full : Count{level_->extent[dim]}, directive,
           directive.loop[0]);
  if (directive.remainder != 0) {
    tabulate(given, above->tiles[dim].edge, directive, directive.loop[1]);
  }
}

// The temporal factors of a dimension (S6.3, S6.5).
void Volumes::factor(const LevelDirective& given, Directive& directive) const {
  const Dim dim = given.dim;
  const TileSizes& tile = level_->tiles[dim];
  const int count = level_->temporal_count[dim];
  const bool spatial = (level_->spatial_dims & bit(dim)) != 0;
  for (const TensorId id : {kInput, kFilter}) directive.fetched[id] = table_->tensors[id].has(dim);
  directive.words = power(tile.full, count);
  directive.edge_words = power(tile.edge, count);
  directive.moved_words =
      given.spatial ? directive.words
                    : wrap_mul(power(tile.full, count - 1), std::max<Count>(tile.fresh, 1));
  if (!table_->tensors[kOutput].has(dim)) {
    directive.factors[0].macs = directive.words;
    directive.factors[1].macs = directive.edge_words;
  } else if (!spatial) {
    const TileSizes& output = level_->tiles[table_->output_tile(dim)];
    directive.factors[0] = {output.full, output.full};
    directive.factors[1] = {output.edge, output.edge};
  }
}

// S5.1, S5.2.
void Volumes::tabulate(const LevelDirective& given, Count extent, const Directive& directive,
                       Loop& loop) const {
  const LoopStates states =
      given.spatial ? spatial_states<Count>(given.size, given.offset, level_->units, extent)
                    : temporal_states<Count>(given.size, given.offset, extent);
  const std::int32_t moving = directive.leads ? open_count_ + 1 : 0;
  const std::int64_t words = states.partial ? directive.edge_words : directive.words;
  const std::int64_t moved = states.unrolled ? words : directive.moved_words;
  loop.states = states;
  loop.wheel.count = 0;
  loop.wheel.add({1, 0, states.partial ? directive.edge : 0});
  if (states.steady != 0) loop.wheel.add({wrap32(states.steady), moving, 0});
  if (states.edge != 0) loop.wheel.add({1, moving, directive.edge | directive.ended});
  for (const TensorId id : {kInput, kFilter}) {
    const bool fetched = directive.fetched[id];
    loop.words[id] = fetched ? words : 1;
    loop.moved[id] = fetched ? moved : 1;
    loop.restarts[id] = fetched && !states.unrolled ? -1 : 0;
  }
}

Status Volumes::begin(std::uint32_t remainders, std::int64_t& cases) {
  Edges edges = settled_edges_;
  Reach reach = settled_reach_;
  odometer_.clear();
  for (int i = 0; i < open_count_; ++i) {
    const Loop& loop = open_[i].at(remainders);
    reach.include(i, loop);
    edges |= loop.wheel.state[0].edges;
    odometer_.add(loop.wheel);
  }
  for (int k = 0; k < level_->spatial_count; ++k) {
    if ((remainders & spatial_[k].remainder) != 0) edges |= second_extent(k);
  }
  fetches_[0] = {reach.words, {Spread::kResident, Spread::kResident}, false};
  for (int wheel = 0; wheel < odometer_.count(); ++wheel) {
    const std::int32_t moving = odometer_.second_state(wheel).moving;
    if (moving > 0) fetches_[moving] = fetch(moving - 1, open_[moving - 1], reach);
  }
  require_spreads(remainders, edges & kSpatialEdges);
  return odometer_.start(edges, cases);
}

Volume Volumes::volume(Edges edges) const {
  Factors temporal = settled_factors_;
  for (int i = 0; i < open_count_; ++i) {
    const Directive& directive = open_[i];
    temporal = temporal.times(directive.factors[(edges & directive.edge) != 0 ? 1 : 0]);
  }
  const Spread& units = spread(edges);
  return {wrap_mul(temporal.outputs, units.outputs), wrap_mul(temporal.macs, units.macs),
          wrap_mul(temporal.macs, units.unit_macs)};
}

// S6.3. All loops inside the moving one are at Init, so its index is all that counts. A tensor
// without the dimension is not fetched (quirk Q7).
Volumes::Fetch Volumes::fetch(int i, const Directive& directive, const Reach& reach) {
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
void Volumes::require_spreads(std::uint32_t remainders, Edges extents) {
  if ((spread_ready_ >> extents & 1) != 0) return;
  spread_ready_ |= std::uint32_t{1} << extents;
  std::array<const LoopStates*, kMaxSpatial> states{};
  Edges can_end = 0;
  for (int k = 0; k < level_->spatial_count; ++k) {
    states[k] = &spatial_[k].states[(remainders & spatial_[k].remainder) != 0 ? 1 : 0];
    if (states[k]->edge != 0) can_end |= spatial_edge(k);
  }
  for (Edges ended = can_end;; ended = (ended - 1) & can_end) {
    Standings standings;
    for (int k = 0; k < level_->spatial_count; ++k) {
      const bool at_end = (ended & spatial_edge(k)) != 0;
      const bool ragged = states[k]->ragged && (at_end || states[k]->partial);
      standings[k] = {states[k]->partial, at_end, ragged};
    }
    spreads_[extents | ended] = spread_work(*table_, *level_, standings);
    if (ended == 0) break;
  }
}

}  // namespace gym::maestro
