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
  fixed_ = Case{};
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
      fixed_ = fixed_.with(loop.wheel.state[0]);
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
  tabulate(i, above != nullptr ? above->tiles[dim].full : level_->extent[dim], directive.loop[0]);
  if (directive.remainder != 0) tabulate(i, above->tiles[dim].edge, directive.loop[1]);
}

// S5.1, S5.2. Directives of one dimension share the state of the last of them.
void Volumes::tabulate(int i, std::int32_t extent, Loop& loop) const {
  const LevelDirective& directive = level_->directives[i];
  const LoopStates states = loop_states(directive, extent, level_->units);
  loop.states = states;
  loop.restarts = false;
  loop.words = loop.fresh = {1, 1};
  Case inside;
  Case at_edge;
  if (level_->last[directive.dim] == i) count_words(i, loop, inside, at_edge);
  Wheel& wheel = loop.wheel;
  wheel.count = 0;
  wheel.add(states.partial ? at_edge : inside);
  if (level_->last[directive.dim] == i) {
    inside.moving = at_edge.moving = i + 1;
    for (int k = 0; k < level_->spatial_count; ++k) {
      const bool same = level_->directives[level_->spatial[k]].dim == directive.dim;
      if (same) at_edge.ended |= std::uint32_t{1} << k;
    }
  }
  if (states.steady > 0) {
    inside.occurrences = states.steady;
    wheel.add(inside);
  }
  if (states.edge) wheel.add(at_edge);
}

// The temporal factors of a dimension, at an edge and not (S6.3, S6.5).
void Volumes::count_words(int i, Loop& loop, Case& inside, Case& at_edge) const {
  const LevelDirective& directive = level_->directives[i];
  const Dim dim = directive.dim;
  const TileSizes& tile = level_->tiles[dim];
  const int temporal = level_->temporal_count[dim];
  const bool output = table_->tensors[kOutput].has(dim);
  loop.restarts = !loop.states.unrolled;
  if ((level_->spatial_dims & bit(dim)) == 0) {
    at_edge.remainders = level_->remainder_bit[dim];
    if (output) {
      const TileSizes& outputs = level_->tiles[table_->output_tile(dim)];
      inside.outputs = inside.macs = outputs.full;
      at_edge.outputs = at_edge.macs = outputs.edge;
    }
  }
  const std::int64_t whole = power(tile.full, temporal);
  if (!output) {
    inside.macs = whole;
    at_edge.macs = power(tile.edge, temporal);
  }
  const std::int64_t words = loop.states.partial ? power(tile.edge, temporal) : whole;
  const std::int64_t fresh =
      directive.spatial ? whole : wrap_mul(power(tile.full, temporal - 1), std::max(tile.fresh, 1));
  for (const TensorId id : {kInput, kFilter}) {
    if (!directives_[i].fetched[id]) continue;
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
  Case fixed = fixed_;
  Reach reach = fixed_reach_;
  turning_.clear();
  for (const int i : open_) {
    const Loop& each = loop(i, remainders);
    reach.include(i, directives_[i], each);
    if (each.wheel.count > 1) {
      turning_.push_back(i);
    } else {
      fixed = fixed.with(each.wheel.state[0]);
    }
  }
  odometer_.start(fixed);
  fetches_[0] = {reach.words, {Spread::kResident, Spread::kResident}, false};
  for (const int i : turning_) {
    odometer_.add(loop(i, remainders).wheel);
    fetches_[i + 1] = fetch(i, reach);
  }
  spread_units(remainders);
  return odometer_.size(cases);
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

// Prepares the spreads the chosen extents can need.
void Volumes::spread_units(std::uint32_t remainders) {
  std::array<const LoopStates*, kMaxSpatial> states{};
  std::uint32_t can_end = 0;
  extents_ = 0;
  for (int k = 0; k < level_->spatial_count; ++k) {
    const int i = level_->last[level_->directives[level_->spatial[k]].dim];
    states[k] = &loop(i, remainders).states;
    if (states[k]->edge) can_end |= std::uint32_t{1} << k;
    const bool second = (remainders & directives_[i].remainder) != 0;
    if (second) extents_ |= std::uint32_t{1} << (kMaxSpatial + k);
  }
  for (std::uint32_t ended = can_end;; ended = (ended - 1) & can_end) {
    const std::uint32_t index = extents_ | ended;
    if ((spread_ready_ >> index & 1) == 0) {
      spread_ready_ |= std::uint32_t{1} << index;
      Standings standings;
      for (int k = 0; k < level_->spatial_count; ++k) {
        const bool at_end = (ended >> k & 1) != 0;
        const bool ragged = states[k]->ragged && (at_end || states[k]->partial);
        standings[k] = {states[k]->partial, at_end, ragged};
      }
      spreads_[index] = spread_work(*table_, *level_, standings);
    }
    if (ended == 0) break;
  }
}

}  // namespace gym::maestro
