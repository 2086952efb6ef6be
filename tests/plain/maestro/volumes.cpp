#include "volumes.hpp"

#include <algorithm>

#include "../integers.hpp"

namespace gym::maestro {

namespace {

using Position = LoopState::Position;

// S6.4: one full unit, the units between, and a ragged last one.
template <typename Volume>
std::int64_t sum_over_units(const Level& level, bool edge, bool ragged, Volume volume) {
  if (!edge) {
    const std::int64_t others = wrap_mul(std::int64_t{level.units} - 1, volume(false, false));
    return wrap_add(volume(true, false), others);
  }
  const std::int64_t units = level.edge_units;
  std::int64_t total = volume(true, units == 1 && ragged);
  if (units > 1) {
    const std::int64_t tail = ragged ? 1 : 0;
    const std::int64_t middle = std::max<std::int64_t>(units - tail - 1, 0);
    total = wrap_add(total, wrap_mul(middle, volume(false, false)));
    if (tail == 1) total = wrap_add(total, volume(false, true));
  }
  return total;
}

}  // namespace

void Volumes::begin_case() {
  temporal_outputs_ = temporal_words(level_.outputs);
  temporal_reductions_ = temporal_words(level_.reductions);
  output_spread_ = spread_of(table_.tensors[kOutput]);
}

std::int64_t Volumes::temporal_words(const Product& product) const {
  std::int64_t words = 1;
  for (const Factor& factor : product.temporal) {
    const TileSizes& tile = level_.tiles[factor.tile];
    words = wrap_mul(words, cases_.state(factor.directive).edge ? tile.edge : tile.full);
  }
  return words;
}

// Whether a loop inside the moving one went back to its first tile.
bool Volumes::restarted(const Tensor& tensor) const {
  for (int i = cases_.moving() + 1; i < static_cast<int>(level_.directives.size()); ++i) {
    if (!tensor.has(level_.directives[i].dim)) continue;
    const LoopState& state = cases_.state(i);
    if (state.position == Position::init && !state.unrolled) return true;
  }
  return false;
}

// S6.2: a spatial factor of the tile of one unit before anything moved.
std::int64_t Volumes::resident_factor(const Factor& factor, bool first, bool ragged) const {
  const TileSizes& tile = level_.tiles[factor.tile];
  if (!cases_.state(factor.directive).edge) return tile.full;
  if (level_.edge_units == 1) return first || ragged ? tile.edge : 1;
  return ragged ? tile.edge : tile.full;
}

// S6.3: a spatial factor of what one unit fetches after a loop moved.
std::int64_t Volumes::fetch_factor(const Factor& factor, bool restarted, bool first,
                                   bool ragged) const {
  const TileSizes& tile = level_.tiles[factor.tile];
  const int moving = cases_.moving();
  const bool init = cases_.state(factor.directive).position == Position::init;
  const bool partly = init ? factor.directive > moving : factor.directive == moving && !restarted;
  if (!first && partly) return ragged ? tile.fresh_edge : tile.fresh;
  return ragged ? tile.edge : tile.full;
}

// S6.3: the temporal factors. False if a loop moves that the static table calls unrolled.
bool Volumes::temporal_fetch(TensorId id, bool restarted, std::int64_t& words) const {
  words = 1;
  for (const Factor& factor : level_.fetched[id].temporal) {
    const TileSizes& tile = level_.tiles[factor.tile];
    const LoopState& state = cases_.state(factor.directive);
    std::int32_t size = tile.full;
    if (state.position == Position::init) {
      size = state.edge ? tile.edge : tile.full;
    } else if (factor.directive == cases_.moving() && !restarted) {
      if (tile.fresh == 0) return false;
      size = std::max(tile.fresh, 1);
    }
    words = wrap_mul(words, size);
  }
  return true;
}

bool Volumes::ingress(TensorId id, std::int64_t& words) const {
  const Tensor& tensor = table_.tensors[id];
  const Product& product = level_.fetched[id];
  const bool moved = cases_.moving() >= 0;
  words = 0;
  if (moved && !tensor.has(level_.directives[cases_.moving()].dim)) return true;
  const bool restart = moved && restarted(tensor);
  std::int64_t temporal = 0;
  if (!moved) {
    temporal = temporal_words(product);
  } else if (!temporal_fetch(id, restart, temporal)) {
    return false;
  }
  const auto volume = [&](bool first, bool ragged) {
    std::int64_t unit = temporal;
    for (const Factor& factor : product.spatial) {
      unit = wrap_mul(unit, moved ? fetch_factor(factor, restart, first, ragged)
                                  : resident_factor(factor, first, ragged));
    }
    return unit;
  };
  const Spread spread = spread_of(tensor);
  words = spread.spatial ? sum_over_units(level_, spread.edge, spread.ragged, volume)
                         : volume(true, false);
  return true;
}

Volumes::Spread Volumes::spread_of(const Tensor& tensor) const {
  Spread spread;
  if ((tensor.set & level_.spatial_dims) == 0) return spread;
  spread.spatial = true;
  for (int k = 0; k < tensor.count; ++k) {
    const Dim dim = tensor.dims[k];
    if ((level_.spatial_dims & bit(dim)) == 0) continue;
    const LoopState& state = cases_.state(level_.first[dim]);
    spread.edge = spread.edge || state.edge;
    spread.ragged = state.ragged;
  }
  return spread;
}

Volumes::Spread Volumes::spread_of_all() const {
  Spread spread{true, false, false};
  for (int i = level_.spatial; i < static_cast<int>(level_.directives.size()); ++i) {
    if (!level_.directives[i].spatial) continue;
    spread.edge = spread.edge || cases_.state(i).edge;
    spread.ragged = cases_.state(i).ragged;
  }
  return spread;
}

// A spatial factor of S6.5; `fresh` says whether a ragged first tile counts its new part only.
std::int64_t Volumes::output_factor(const Factor& factor, bool first, bool ragged,
                                    bool fresh) const {
  const LoopState& state = cases_.state(factor.directive);
  const TileSizes& tile = level_.tiles[factor.tile];
  if (state.position == Position::init && state.edge && ragged) {
    return level_.edge_units > 1 && fresh ? tile.fresh_edge : tile.edge;
  }
  if (state.position == Position::edge) {
    // Quirk Q10: the input extent, where the output's is meant.
    if (level_.edge_units == 1) {
      const Dim dim = level_.directives[factor.directive].dim;
      return first || ragged ? level_.tiles[dim].edge : 1;
    }
    if (ragged) return tile.fresh_edge;
  }
  if (first) return tile.full;
  return tile.fresh != 0 ? tile.fresh : 1;
}

// S6.5: output words of one unit.
std::int64_t Volumes::outputs(bool first, bool ragged, bool reuse) const {
  std::int64_t volume = temporal_outputs_;
  for (const Factor& factor : level_.outputs.spatial) {
    volume = wrap_mul(volume, output_factor(factor, first, ragged, reuse));
  }
  return volume;
}

// S6.5 with partial sums: MACs of one unit.
std::int64_t Volumes::unit_volume(bool first, bool ragged, bool reuse) const {
  std::int64_t volume = wrap_mul(outputs(first, ragged, reuse), temporal_reductions_);
  for (const Factor& factor : level_.reductions.spatial) {
    volume = wrap_mul(volume, output_factor(factor, first, ragged, false));
  }
  return volume;
}

std::int64_t Volumes::egress() const {
  if (!output_spread_.spatial) return outputs(true, false, true);
  return sum_over_units(level_, output_spread_.edge, output_spread_.ragged,
                        [this](bool first, bool ragged) { return outputs(first, ragged, true); });
}

// S6.6. The units in the middle count as first ones.
std::int64_t Volumes::macs() const {
  const Spread spread = spread_of_all();
  const std::int64_t units = level_.edge_units;
  const bool alone = spread.edge && spread.ragged && units == 1;
  const std::int64_t first = unit_volume(true, alone, true);
  if (!spread.edge) return wrap_mul(level_.units, first);
  if (units <= 1) return first;
  const std::int64_t tail = spread.ragged ? 1 : 0;
  const std::int64_t middle = wrap_mul(std::max<std::int64_t>(units - tail - 1, 0), first);
  const std::int64_t last = tail == 1 ? unit_volume(false, true, false) : 0;
  return wrap_add(wrap_add(first, middle), last);
}

std::int64_t Volumes::unit_macs() const {
  const bool alone = output_spread_.edge && output_spread_.ragged && level_.edge_units == 1;
  return unit_volume(true, alone, true);
}

}  // namespace gym::maestro
