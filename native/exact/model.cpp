#include "model.hpp"

namespace gym::exact {

namespace {

bool possible(const Hardware& hardware) {
  return hardware.num_pes >= 1 && hardware.noc_bw >= 1 && hardware.offchip_bw >= 1 &&
         hardware.simd_lanes >= 1 && hardware.noc_latency >= 0 && hardware.word_bytes >= 1 &&
         hardware.energies.possible();
}

// The loops of a layer this model can count.
std::optional<LoopNest> countable_nest(const Layer& layer) {
  if (layer.op == Operator::trconv) return std::nullopt;
  for (const Layer::Extent& extent : layer.extents) {
    const bool depthwise_filters = layer.op == Operator::dsconv && extent.dim == kK;
    if (extent.value < 1 || (depthwise_filters && extent.value > 1)) return std::nullopt;
  }
  return loop_nest(layer);
}

// Whether two levels of any tiles fit the buffers.
bool always_fits(const Totals& totals, const Hardware& hardware) {
  const double words = real(totals.words[0]) + real(totals.words[1]) + real(totals.words[2]);
  return 4 * words <= real(hardware.l1_words()) && words <= real(hardware.l2_words());
}

// Whether no counter reaches a bound (E7).
bool countable(const LoopNest& nest, int levels, std::int64_t latency, double bound) {
  if (nest.macs_estimate() >= 0x1p62) return false;
  const __int128 per_mac =
      1 + 2 * static_cast<__int128>(levels) * (1 + static_cast<__int128>(latency));
  return static_cast<__int128>(nest.macs()) * per_mac < static_cast<__int128>(bound);
}

// `tiling` cuts as it was told to, not as the last boxes leave it.
void size_buffers(const LoopNest& nest, const Tiling& tiling, Report& report) {
  report.levels = tiling.levels;
  report.l1_share = 0;
  std::int64_t sharers = 1;  // PEs of a unit
  for (int j = tiling.levels; j-- > 0;) {
    const TiledLevel& level = tiling.level[j];
    report.buffer[j] = tile_words(nest, level.extent).buffer();
    if (j + 1 < tiling.levels) report.l1_share += ceil_div(report.buffer[j], sharers);
    sharers *= level.units;
  }
}

// Words of the least L2 a tiling runs with: see plan_l2.
std::int64_t required_l2_words(const LoopNest& nest, const PerTensor& words, const Tiling& tiling) {
  const TiledLevel& top = tiling.level[0];
  Extents tile = top.extent;
  tile[top.spatial] = std::min(nest.extent[top.spatial], top.units * tile[top.spatial]);
  const TileWords array = tile_words(nest, tile);
  return std::min(2 * array.input, words[kInput]) + std::min(2 * array.filter, words[kFilter]) +
         std::min(2 * array.output, words[kOutput]);
}

}  // namespace

ExactModel::ExactModel(const Layer& layer, const Hardware& hardware)
    : layer_(layer),
      hardware_(hardware),
      possible_(possible(hardware)),
      checked_(countable_nest(layer)),
      nest_(checked_.value_or(LoopNest{})),
      totals_(nest_),
      always_fits_(always_fits(totals_, hardware)),
      tiler_(nest_, layer.op),
      partition_(nest_),
      timer_(nest_, hardware_, partition_),
      traffic_(nest_, partition_),
      wide_problem_(nest_, hardware_, tiler_),
      // Doubles count exactly what two levels of PEs of one MAC a cycle come to.
      fits_lanes_(possible_ && checked_ && hardware.simd_lanes == 1 && wide_problem_.loops > 0 &&
                  countable(nest_, 2, hardware.noc_latency, 0x1p51)),
      lanes_(wide_problem_) {
  for (int levels = 1; levels <= kMaxLevels; ++levels) {
    countable_[levels - 1] = countable(nest_, levels, hardware.noc_latency, 0x1p60);
  }
}

Status ExactModel::evaluate(const Mapping& mapping, Metrics& metrics) {
  Status status = begin();
  if (status != Status::ok) return status;
  status = tiler_.tile(mapping, hardware_.num_pes, tiling_, problem_);
  if (status == Status::ok) status = size(Detail::rows);
  if (status == Status::ok) count(Detail::rows, metrics);
  return status;
}

void ExactModel::evaluate(const Points& points, const Results& results) {
  const MapSpace& space = points.space;
  const Detail detail = results.detail;
  if (!tiler_.reads(space)) return Model::evaluate(points, results);
  const auto count_at = [&](std::int64_t i, const MapSpace::Chosen& chosen) {
    tiler_.order(space, chosen, tiling_);
    count(detail, results.rows[i]);
  };
  const auto general = [&](std::int64_t i) {
    const auto chosen = space.read(points[i]);
    const Status status = size(space, chosen, detail);
    if (status == Status::ok) count_at(i, chosen);
    return status;
  };
  // A mapping alone takes about as long either way.
  if (points.count == 1 || !fits_lanes_) {
    for (std::int64_t i = 0; i < points.count; ++i) results.statuses[i] = general(i);
    return;
  }
  const bool all = timer_.always_served() && (detail == Detail::rows || always_fits_);
  const auto settle = [&](std::int64_t i, const MapSpace::Chosen& chosen) -> std::optional<Status> {
    if (all) return std::nullopt;
    const Status status = size(space, chosen, detail);
    if (status != Status::ok) return status;
    if (timer_.may_never_wait(tiling_)) return std::nullopt;
    count_at(i, chosen);
    return status;
  };
  lanes_.evaluate(points, results, settle, general);
}

Status ExactModel::begin() {
  problem_ = -1;
  report_.levels = 0;
  if (!possible_) return Status::bad_hw;
  return checked_ ? Status::ok : Status::bad_layer;
}

Status ExactModel::size(const MapSpace& space, const MapSpace::Chosen& chosen, Detail detail) {
  Status status = begin();
  if (status == Status::ok) status = tiler_.size(space, chosen, hardware_.num_pes, tiling_);
  return status == Status::ok ? size(detail) : status;
}

Status ExactModel::size(Detail detail) {
  if (!countable_[tiling_.levels - 1]) return Status::overflow;
  size_buffers(nest_, tiling_, report_);
  if (detail == Detail::rows || always_fits_) return Status::ok;
  const std::int64_t l2_words = required_l2_words(nest_, totals_.words, tiling_);
  return hardware_.check_capacities(report_.bytes(report_.l1_total(), hardware_),
                                    report_.bytes(l2_words, hardware_));
}

void ExactModel::count(Detail detail, Metrics& metrics) {
  partition_.cut(tiling_);
  report_.onchip_cycles = timer_.run(tiling_, detail, report_.profile);
  traffic_.count(tiling_, report_.words);
  report_.busy_pe_cycles = hardware_.simd_lanes == 1
                               ? totals_.macs
                               : traffic_.busy_pe_cycles(tiling_, hardware_.simd_lanes);
  report_.conclude(totals_, hardware_);
  fill(report_, hardware_, detail, metrics);
}

std::vector<ClusterMetrics> ExactModel::clusters() const {
  std::vector<ClusterMetrics> clusters;
  for (int j = 0; j + 1 < report_.levels; ++j) {
    const LevelWords& written = report_.words[j];
    const LevelWords& read = report_.words[j + 1];
    clusters.push_back({real(written.unit_input), real(written.unit_filter),
                        real(read.fetched_input), real(read.fetched_filter), real(read.leaving),
                        real(read.leaving), report_.bytes(report_.buffer[j], hardware_)});
  }
  return clusters;
}

}  // namespace gym::exact
