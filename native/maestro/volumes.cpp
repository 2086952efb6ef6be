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
    return wrap_add(volume(true, false),
                    wrap_mul(std::int64_t{level.units} - 1, volume(false, false)));
  }
  const std::int64_t units = level.edge_units;
  std::int64_t total = volume(true, units == 1 && ragged);
  if (units > 1) {
    const std::int64_t tail = ragged ? 1 : 0;
    total = wrap_add(total,
                     wrap_mul(std::max<std::int64_t>(units - tail - 1, 0), volume(false, false)));
    if (tail == 1) total = wrap_add(total, volume(false, true));
  }
  return total;
}

}  // namespace

bool Volumes::moves(const Tensor& tensor) const {
  return tensor.has(level_.directives[cases_.moving()].dim);
}

bool Volumes::restarted(const Tensor& tensor) const {
  for (int i = cases_.moving() + 1; i < static_cast<int>(level_.directives.size()); ++i) {
    if (!tensor.has(level_.directives[i].dim)) continue;
    const LoopState& state = cases_.state(i);
    if (state.position == Position::init && !state.unrolled) return true;
  }
  return false;
}

// S6.2: the tile of one unit before anything moved.
std::int64_t Volumes::resident(const Tensor& tensor, bool first, bool ragged) const {
  std::int64_t words = 1;
  for (int i = 0; i < static_cast<int>(level_.directives.size()); ++i) {
    const LevelDirective& directive = level_.directives[i];
    if (!tensor.has(directive.dim)) continue;
    const TileSizes& tile = level_.tiles[directive.dim];
    std::int64_t factor = tile.full;
    if (cases_.state(i).edge) {
      if (!directive.spatial) {
        factor = tile.edge;
      } else if (level_.edge_units == 1) {
        factor = first || ragged ? tile.edge : 1;
      } else {
        factor = ragged ? tile.edge : tile.full;
      }
    }
    words = wrap_mul(words, factor);
  }
  return words;
}

// S6.3: what one unit fetches after loop `moving` advanced.
bool Volumes::fetch(const Tensor& tensor, bool restarted, bool first, bool ragged,
                    std::int64_t& words) const {
  const int moving = cases_.moving();
  words = 1;
  for (int i = 0; i < static_cast<int>(level_.directives.size()); ++i) {
    const LevelDirective& directive = level_.directives[i];
    if (!tensor.has(directive.dim)) continue;
    const TileSizes& tile = level_.tiles[directive.dim];
    const LoopState& state = cases_.state(i);
    const bool advances = i == moving && !restarted;
    std::int64_t factor;
    if (directive.spatial) {
      const std::int32_t whole = ragged ? tile.edge : tile.full;
      const std::int32_t fresh = ragged ? tile.fresh_edge : tile.fresh;
      const bool partly = state.position == Position::init ? i > moving : advances;
      factor = !first && partly ? fresh : whole;
    } else if (state.position == Position::init) {
      factor = state.edge ? tile.edge : tile.full;
    } else if (advances) {
      if (tile.fresh == 0) return false;
      factor = std::max(tile.fresh, 1);
    } else {
      factor = tile.full;
    }
    words = wrap_mul(words, factor);
  }
  return true;
}

Volumes::Spread Volumes::spread_of(const Tensor& tensor) const {
  Spread spread;
  for (int k = 0; k < tensor.count; ++k) {
    const Dim dim = tensor.dims[k];
    if ((level_.spatial_dims & bit(dim)) == 0) continue;
    spread.spatial |= bit(dim);
    spread.edge = spread.edge || state_of(dim).edge;
    spread.ragged = state_of(dim).ragged;
  }
  return spread;
}

Volumes::Spread Volumes::spread_of_all() const {
  Spread spread;
  for (int i = 0; i < static_cast<int>(level_.directives.size()); ++i) {
    if (!level_.directives[i].spatial) continue;
    spread.spatial |= bit(level_.directives[i].dim);
    spread.edge = spread.edge || cases_.state(i).edge;
    spread.ragged = cases_.state(i).ragged;
  }
  return spread;
}

bool Volumes::ingress(TensorId id, std::int64_t& words) const {
  const Tensor& tensor = table_.tensors[id];
  const bool moved = cases_.moving() >= 0;
  words = 0;
  if (moved && !moves(tensor)) return true;
  const bool restart = moved && restarted(tensor);
  bool alive = true;
  const auto volume = [&](bool first, bool ragged) {
    if (!moved) return resident(tensor, first, ragged);
    std::int64_t fetched = 0;
    alive = fetch(tensor, restart, first, ragged, fetched) && alive;
    return fetched;
  };
  const Spread spread = spread_of(tensor);
  words = spread.spatial == 0 ? volume(true, false)
                              : sum_over_units(level_, spread.edge, spread.ragged, volume);
  return alive;
}

// One factor of S6.5; `fresh` says whether a ragged first tile counts its new part only.
std::int64_t Volumes::output_factor(int i, Dim name, bool first, bool ragged, bool fresh) const {
  const LoopState& state = cases_.state(i);
  const TileSizes& tile = level_.tiles[name];
  if (!level_.directives[i].spatial) return state.edge ? tile.edge : tile.full;
  if (state.position == Position::init && state.edge && ragged) {
    return level_.edge_units > 1 && fresh ? tile.fresh_edge : tile.edge;
  }
  if (state.position == Position::edge) {
    // Quirk Q10: the input extent, where the output's is meant.
    if (level_.edge_units == 1) {
      return first || ragged ? level_.tiles[level_.directives[i].dim].edge : 1;
    }
    if (ragged) return tile.fresh_edge;
  }
  if (first) return tile.full;
  return tile.fresh != 0 ? tile.fresh : 1;
}

// S6.5: output words of one unit, or with `psums` its MACs.
std::int64_t Volumes::output(bool psums, bool first, bool ragged, bool reuse) const {
  const Tensor& tensor = table_.tensors[kOutput];
  std::int64_t volume = 1;
  if (psums) {
    for (int i = 0; i < static_cast<int>(level_.directives.size()); ++i) {
      const Dim dim = level_.directives[i].dim;
      if (tensor.has(dim)) continue;
      volume = wrap_mul(volume, output_factor(i, dim, first, ragged, false));
    }
  }
  for (int k = 0; k < tensor.count; ++k) {
    const Dim dim = tensor.dims[k];
    const bool primed = table_.slides && (dim == kY || dim == kX);
    const Dim name = primed ? output_axis(dim) : dim;
    volume = wrap_mul(volume, output_factor(level_.first[dim], name, first, ragged, reuse));
  }
  return volume;
}

std::int64_t Volumes::egress() const {
  const Spread spread = spread_of(table_.tensors[kOutput]);
  if (spread.spatial == 0) return output(false, true, false, true);
  return sum_over_units(level_, spread.edge, spread.ragged, [this](bool first, bool ragged) {
    return output(false, first, ragged, true);
  });
}

std::int64_t Volumes::macs() const {
  const Spread spread = spread_of_all();
  if (!spread.edge) return wrap_mul(level_.units, output(true, true, false, true));
  const std::int64_t units = level_.edge_units;
  std::int64_t total = output(true, true, units == 1 && spread.ragged, true);
  if (units > 1) {
    const std::int64_t tail = spread.ragged ? 1 : 0;
    total = wrap_add(total, wrap_mul(std::max<std::int64_t>(units - tail - 1, 0),
                                     output(true, true, false, true)));
    if (tail == 1) total = wrap_add(total, output(true, false, true, false));
  }
  return total;
}

std::int64_t Volumes::unit_macs() const {
  const Spread spread = spread_of(table_.tensors[kOutput]);
  const bool alone = spread.edge && spread.ragged && level_.edge_units == 1;
  return output(true, true, alone, true);
}

}  // namespace gym::maestro
