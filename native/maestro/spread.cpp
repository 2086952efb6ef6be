#include "spread.hpp"

#include <algorithm>

namespace gym::maestro {

namespace {

// The units at work on a product: a first one, whole ones after it, and a ragged last one (S6.4).
struct Units {
  bool first_is_ragged = false;
  std::int64_t middle = 0;
  bool tail = false;
};

template <typename Volume>
std::int64_t sum_over(const Units& units, Volume volume) {
  std::int64_t total = volume(true, units.first_is_ragged);
  if (units.middle != 0) total = wrap_add(total, wrap_mul(units.middle, volume(false, false)));
  return units.tail ? wrap_add(total, volume(false, true)) : total;
}

// By the number of spatial directives: loops over them vanish.
template <int kLoops>
class Spreader {
 public:
  Spreader(const LayerTable& table, const Level& level, const Standings& standings)
      : table_(table), level_(level), standings_(standings) {}

  Spread spread() const {
    Spread spread;
    spread_fetches(kInput, spread);
    spread_fetches(kFilter, spread);
    const Units units = units_of(table_.tensors[kOutput]);
    spread.outputs =
        sum_over(units, [this](bool first, bool ragged) { return outputs(first, ragged, true); });
    // S6.6: the units in the middle count as first ones.
    spread.macs = sum_over(all_units(), [this](bool first, bool ragged) {
      const bool last = !first && ragged;
      return unit_volume(!last, ragged, !last);
    });
    spread.unit_macs = unit_volume(true, units.first_is_ragged, true);
    share_out(spread);
    return spread;
  }

 private:
  Dim dim(int k) const { return level_.directives[level_.spatial[k]].dim; }

  Units units_at(bool edge, bool ragged) const {
    if (!edge) return {false, std::int64_t{level_.units} - 1, false};
    const std::int64_t units = level_.edge_units;
    if (units <= 1) return {units == 1 && ragged, 0, false};
    return {false, std::max<std::int64_t>(units - (ragged ? 1 : 0) - 1, 0), ragged};
  }

  // By the tensor's dimensions whose first directive is spatial, if there are any.
  Units units_of(const Tensor& tensor) const {
    const DimSet dims = tensor.set & level_.spatial_dims;
    if (dims == 0) return {};
    if constexpr (kLoops == 1) return all_units();
    const bool edge = ((dims & bit(dim(0))) != 0 && standings_[0].edge()) ||
                      ((dims & bit(dim(1))) != 0 && standings_[1].edge());
    int last = tensor.count - 1;
    while ((dims & bit(tensor.dims[last])) == 0) --last;
    return units_at(edge, standings_[tensor.dims[last] == dim(0) ? 0 : 1].ragged);
  }

  Units all_units() const {
    const bool edge = standings_[0].edge() || (kLoops > 1 && standings_[1].edge());
    return units_at(edge, standings_[kLoops - 1].ragged);
  }

  // S6.2: the tile of one unit before anything moved.
  std::int64_t resident_factor(int k, bool first, bool ragged) const {
    const TileSizes& tile = level_.tiles[dim(k)];
    if (!standings_[k].edge()) return tile.full;
    if (level_.edge_units == 1) return first || ragged ? tile.edge : 1;
    return ragged ? tile.edge : tile.full;
  }

  // S6.3: what one unit fetches after a loop moved.
  std::int64_t fetch_factor(int k, bool fresh, bool first, bool ragged) const {
    const TileSizes& tile = level_.tiles[dim(k)];
    if (!first && fresh) return ragged ? tile.fresh_edge : tile.fresh;
    return ragged ? tile.edge : tile.full;
  }

  // S6.5; `fresh` says whether a ragged first tile counts its new part only.
  std::int64_t output_factor(int k, Dim tile_dim, bool first, bool ragged, bool fresh) const {
    const Standing& standing = standings_[k];
    const TileSizes& tile = level_.tiles[tile_dim];
    if (standing.partial && ragged) {
      return level_.edge_units > 1 && fresh ? tile.fresh_edge : tile.edge;
    }
    if (standing.ended) {
      // Quirk Q10: the input extent, where the output's is meant.
      if (level_.edge_units == 1) return first || ragged ? level_.tiles[dim(k)].edge : 1;
      if (ragged) return tile.fresh_edge;
    }
    if (first) return tile.full;
    return tile.fresh != 0 ? tile.fresh : 1;
  }

  // S6.5: output words of one unit, by the first directive of every output dimension.
  std::int64_t outputs(bool first, bool ragged, bool reuse) const {
    std::int64_t volume = 1;
    for (int k = 0; k < kLoops; ++k) {
      const Dim axis = dim(k);
      if (!table_.tensors[kOutput].has(axis) || level_.first[axis] != level_.spatial[k]) continue;
      const Dim tile = table_.output_tile(axis);
      volume = wrap_mul(volume, output_factor(k, tile, first, ragged, reuse));
    }
    return volume;
  }

  // S6.5 with partial sums: MACs of one unit.
  std::int64_t unit_volume(bool first, bool ragged, bool reuse) const {
    std::int64_t volume = outputs(first, ragged, reuse);
    for (int k = 0; k < kLoops; ++k) {
      if (table_.tensors[kOutput].has(dim(k))) continue;
      volume = wrap_mul(volume, output_factor(k, dim(k), first, ragged, false));
    }
    return volume;
  }

  void spread_fetches(TensorId id, Spread& spread) const {
    const Tensor& tensor = table_.tensors[id];
    std::array<std::int64_t, Spread::kResident + 1>& fetched = spread.fetched[id];
    fetched.fill(1);
    const Units units = units_of(tensor);
    const auto sum = [&](auto factor) {
      return sum_over(units, [&](bool first, bool ragged) {
        std::int64_t volume = 1;
        for (int k = 0; k < kLoops; ++k) {
          if (tensor.has(dim(k))) volume = wrap_mul(volume, factor(k, first, ragged));
        }
        return volume;
      });
    };
    DimSet dims = 0;
    for (int k = 0; k < kLoops; ++k) dims |= bit(dim(k));
    if ((tensor.set & dims) == 0) return;
    fetched[Spread::kResident] =
        sum([this](int k, bool first, bool ragged) { return resident_factor(k, first, ragged); });
    for (int set = 0; set < 1 << kLoops; ++set) {
      fetched[set] = sum([&](int k, bool first, bool ragged) {
        return fetch_factor(k, (set >> k & 1) != 0, first, ragged);
      });
    }
  }

  // S7.1 and S7 step 7: who works, and on what.
  void share_out(Spread& spread) const {
    std::uint32_t remainders = 0;
    for (int k = 0; k < kLoops; ++k) {
      const bool counts = level_.first[dim(k)] == level_.spatial[k] && standings_[k].edge();
      if (counts) remainders |= level_.remainder_bit[dim(k)];
    }
    const Standing& leading = standings_[0];
    const std::uint32_t whole = level_.edge_units == 1 ? remainders : 0;
    spread.busy_units = leading.edge() ? level_.edge_units : level_.units;
    spread.job_count = 1;
    if (!leading.edge() || !leading.ragged) {
      spread.jobs[0] = {whole, spread.busy_units};
      return;
    }
    spread.jobs[0] = {remainders, 1};
    if (level_.edge_units > 1) spread.jobs[spread.job_count++] = {whole, level_.edge_units - 1};
  }

  const LayerTable& table_;
  const Level& level_;
  const Standings& standings_;
};

}  // namespace

Spread spread_work(const LayerTable& table, const Level& level, const Standings& standings) {
  return level.spatial_count == 1 ? Spreader<1>(table, level, standings).spread()
                                  : Spreader<2>(table, level, standings).spread();
}

}  // namespace gym::maestro
