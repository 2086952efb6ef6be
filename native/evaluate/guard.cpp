#include "guard.hpp"

#include <algorithm>

#include "../core/integers.hpp"

namespace gym {

Guard::Guard(const Layer& layer, const LoopNest& nest, const Hardware& hardware)
    : op_(layer.op),
      loop_(loops_of(layer.op)),
      nest_(nest),
      hardware_(hardware),
      macs_(static_cast<double>(nest.macs())),
      macs_estimate_(nest.macs_estimate()),
      words_{static_cast<double>(nest.words(kInput)), static_cast<double>(nest.words(kFilter)),
             static_cast<double>(nest.words(kOutput))} {}

// Checks each count that the lower bound of the energy charges.
bool Guard::has_compulsory_traffic(const Metrics& metrics) const {
  const double per_mac = std::min({metrics.input_l1_reads, metrics.filter_l1_reads,
                                   metrics.output_l1_reads, metrics.output_l1_writes});
  const double input =
      std::min({metrics.input_l1_writes, metrics.input_l2_reads, metrics.input_l2_writes});
  const double filter =
      std::min({metrics.filter_l1_writes, metrics.filter_l2_reads, metrics.filter_l2_writes});
  const double output = std::min(metrics.output_l2_reads, metrics.output_l2_writes);
  return per_mac >= macs_ && input >= words_[kInput] && filter >= words_[kFilter] &&
         output >= words_[kOutput];
}

// Tile sizes in outputs: a Y or X tile of input rows holds the windows that fit.
std::int64_t Guard::tile_of(const Directive& directive) const {
  if (!is_convolution(op_) || (directive.dim != kY && directive.dim != kX)) return directive.size;
  const bool y = directive.dim == kY;
  const std::int64_t window = nest_.extent[y ? kLoopR : kLoopS];
  const std::int64_t stride = y ? nest_.stride_y : nest_.stride_x;
  return std::max<std::int64_t>((directive.size - window) / stride + 1, 1);
}

void Guard::read_levels(const Mapping& mapping) {
  levels_.clear();
  std::int64_t clusters = 1;
  levels_.push_back({hardware_.num_pes, {}});
  for (const Directive& directive : mapping) {
    if (directive.kind == Directive::Kind::cluster) {
      levels_.push_back({directive.size, {}});
      clusters = wrap_mul(clusters, directive.size);
      continue;
    }
    const LoopId id = loop_[directive.dim];
    if (id == kLoops) continue;
    Loop& loop = levels_.back().loop[id];
    if (loop.tile == 0) loop = {tile_of(directive), directive.kind == Directive::Kind::spatial};
  }
  levels_[0].units =
      std::max<std::int64_t>(hardware_.num_pes / std::max<std::int64_t>(clusters, 1), 1);
}

// How many indices of a dimension the first PE works on: unit 0 of a level gets every n-th chunk.
double Guard::indices_of_first_pe(LoopId id, std::size_t j, std::int64_t extent) const {
  if (j == levels_.size()) return static_cast<double>(extent);
  const Loop& loop = levels_[j].loop[id];
  if (loop.tile == 0) return indices_of_first_pe(id, j + 1, extent);
  const std::int64_t tile = std::min(loop.tile, extent);
  const std::int64_t units = loop.spatial ? levels_[j].units : 1;
  const std::int64_t chunks = ceil_div(extent, tile);
  const std::int64_t mine = ceil_div(chunks, units);
  const bool has_tail = (chunks - 1) % units == 0;
  double indices =
      static_cast<double>(mine - (has_tail ? 1 : 0)) * indices_of_first_pe(id, j + 1, tile);
  if (has_tail) indices += indices_of_first_pe(id, j + 1, extent - (chunks - 1) * tile);
  return indices;
}

bool Guard::spread(LoopId id) const {
  return std::any_of(levels_.begin(), levels_.end(),
                     [id](const Level& level) { return level.loop[id].spatial; });
}

// The first PE is never idle while another works. It works on all of what no level spreads.
double Guard::busiest_pe_macs() const {
  double macs = 1;
  for (int i = 0; i < kLoops; ++i) {
    const auto id = static_cast<LoopId>(i);
    const std::int64_t extent = nest_.extent[i];
    macs *= spread(id) ? indices_of_first_pe(id, 0, extent) : static_cast<double>(extent);
  }
  return macs;
}

}  // namespace gym
