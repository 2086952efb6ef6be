#include "model.hpp"

#include "buffers.hpp"
#include "figures.hpp"

namespace gym::exact {

namespace {

bool possible(const Hardware& hardware) {
  return hardware.num_pes >= 1 && hardware.noc_bw >= 1 && hardware.offchip_bw >= 1 &&
         hardware.simd_lanes >= 1 && hardware.noc_latency >= 0 && hardware.offchip_cost_macs >= 0 &&
         hardware.offchip_cost_macs <= kMaxOffchipCostMacs;
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

// Whether no counter reaches a bound (E7).
bool countable(const LoopNest& nest, int levels, std::int64_t latency, double bound) {
  if (nest.macs_estimate() >= 0x1p62) return false;
  const __int128 per_mac =
      1 + 2 * static_cast<__int128>(levels) * (1 + static_cast<__int128>(latency));
  return static_cast<__int128>(nest.macs()) * per_mac < static_cast<__int128>(bound);
}

}  // namespace

ExactModel::ExactModel(const Layer& layer, const Hardware& hardware)
    : layer_(layer),
      hardware_(hardware),
      possible_(possible(hardware)),
      checked_(countable_nest(layer)),
      nest_(checked_.value_or(LoopNest{})),
      totals_(nest_),
      tiler_(nest_, layer.op),
      partition_(nest_),
      timer_(nest_, hardware_, partition_),
      traffic_(nest_, partition_),
      wide_problem_(nest_, hardware_),
      wide_batch_(wide_problem_) {
  for (int levels = 1; levels <= kMaxLevels; ++levels) {
    countable_[levels - 1] = countable(nest_, levels, hardware.noc_latency, 0x1p60);
  }
}

Status ExactModel::evaluate(const Mapping& mapping, Metrics& metrics) {
  Status status = begin();
  if (status != Status::ok) return status;
  status = tiler_.tile(mapping, hardware_.num_pes, tiling_, problem_);
  return status == Status::ok ? count(metrics) : status;
}

Status ExactModel::evaluate(const MapSpace& space, const std::int32_t* point, Metrics& metrics) {
  if (!tiler_.reads(space)) return Model::evaluate(space, point, metrics);
  Status status = begin();
  if (status != Status::ok) return status;
  status = tiler_.tile(space, point, hardware_.num_pes, tiling_);
  return status == Status::ok ? count(metrics) : status;
}

void ExactModel::evaluate(const MapSpace& space, const std::int32_t* points, std::int64_t count,
                          Metrics* rows, Status* statuses) {
  if (count == 1 || !fits_side_by_side(space)) {
    return Model::evaluate(space, points, count, rows, statuses);
  }
  const std::size_t width = space.parameters.size();
  wide_batch_.open(space, tiler_);
  const auto at = [&](std::int64_t i) { return points + static_cast<std::size_t>(i) * width; };
  const auto add = [&](std::int64_t i) { return wide_batch_.add(at(i)); };
  const auto single = [&](std::int64_t i) { return evaluate(space, at(i), rows[i]); };
  evaluate_in_blocks(wide_batch_, count, rows, statuses, add, single);
}

// Whether all mappings of a space are two-level ones of uncut windows, with numbers that doubles
// count exactly.
bool ExactModel::fits_side_by_side(const MapSpace& space) const {
  if (!wide_batch_.works() || !possible_ || !checked_ || !tiler_.reads(space) ||
      hardware_.simd_lanes > 1) {
    return false;
  }
  if (!countable(nest_, 2, hardware_.noc_latency, 0x1p51) || wide_problem_.loops == 0) return false;
  return tiler_.leaves_windows(space);
}

Status ExactModel::begin() {
  problem_ = -1;
  report_.cluster_levels = 0;
  if (!possible_) return Status::bad_hw;
  return checked_ ? Status::ok : Status::bad_layer;
}

Status ExactModel::count(Metrics& metrics) {
  if (!countable_[tiling_.levels - 1]) return Status::overflow;
  partition_.cut(tiling_);
  findings_.onchip_cycles = timer_.run(tiling_, findings_.profile);
  traffic_.count(tiling_, findings_.words);
  findings_.busy_pe_cycles = hardware_.simd_lanes == 1
                                 ? totals_.macs
                                 : traffic_.busy_pe_cycles(tiling_, hardware_.simd_lanes);
  size_buffers(nest_, tiling_, findings_);
  report_.write(totals_, tiling_.levels, hardware_, findings_);
  fill(report_, hardware_, metrics);
  return Status::ok;
}

std::vector<ClusterMetrics> ExactModel::clusters() const {
  std::vector<ClusterMetrics> clusters;
  for (int j = 0; j < report_.cluster_levels; ++j) {
    const ClusterBuffers& each = report_.clusters[j];
    const double leaving = real(each.read.leaving);
    clusters.push_back({real(each.written.unit_input), real(each.written.unit_filter),
                        real(each.read.fetched_input), real(each.read.fetched_filter), leaving,
                        leaving, real(each.size)});
  }
  return clusters;
}

}  // namespace gym::exact
