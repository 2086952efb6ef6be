#include "model.hpp"

#include "../constants.hpp"

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

// Below the bound of E7 no counter overflows 64 bits.
bool countable(const LoopNest& nest, int levels, std::int64_t latency) {
  if (nest.macs_estimate() >= 0x1p62) return false;
  const __int128 per_mac =
      1 + 2 * static_cast<__int128>(levels) * (1 + static_cast<__int128>(latency));
  return static_cast<__int128>(nest.macs()) * per_mac < (std::int64_t{1} << 60);
}

double real(std::int64_t value) { return static_cast<double>(value); }

void fill_spans(const Report& report, Metrics& metrics) {
  const Profile& profile = report.profile;
  metrics.ingress_min_cycles = real(profile.ingress.min);
  metrics.ingress_max_cycles = real(profile.ingress.max);
  metrics.ingress_avg_cycles = report.average(profile.ingress);
  metrics.egress_min_cycles = real(profile.egress.min);
  metrics.egress_max_cycles = real(profile.egress.max);
  metrics.egress_avg_cycles = report.average(profile.egress);
  metrics.compute_min_cycles = real(profile.compute.min);
  metrics.compute_max_cycles = real(profile.compute.max);
  metrics.compute_avg_cycles = report.average(profile.compute);
  metrics.ingress_sum_cycles = real(profile.ingress.sum);
  metrics.egress_sum_cycles = real(profile.egress.sum);
  metrics.compute_sum_cycles = real(profile.compute.sum);
}

void fill_counts(const Report& report, Metrics& metrics) {
  metrics.steps = real(report.profile.steps);
  metrics.onchip_cycles = real(report.onchip_cycles);
  metrics.busy_pe_cycles = real(report.busy_pe_cycles);
  metrics.first_in_words = real(report.profile.first_in);
  metrics.last_out_words = real(report.profile.last_out);
  metrics.input_unit_writes = real(report.l2.unit_input);
  metrics.filter_unit_writes = real(report.l2.unit_filter);
  metrics.output_leaving_words = real(report.l2.leaving);
  metrics.output_psum_reads = real(report.psum_reads());
  metrics.offchip_read_words = real(report.plan.words_in());
  metrics.offchip_write_words = real(report.plan.offchip_out);
  metrics.l1_accesses = real(report.l1_accesses);
  metrics.cluster_accesses = real(report.mid_accesses);
  metrics.l2_accesses = real(report.l2_accesses);
  metrics.pe_l1_bytes = real(report.l1_size);
  metrics.cluster_l1_bytes = real(report.l1_share);
  metrics.l2_used_bytes = real(report.plan.used);
  metrics.l2_hold_bytes = real(report.plan.hold);
  metrics.l2_resident_tensors = report.plan.resident;
  metrics.input_multicast = report.input_multicast();
  metrics.filter_multicast = report.filter_multicast();
  metrics.input_reuse = report.input_reuse();
  metrics.filter_reuse = report.filter_reuse();
}

void fill(const Report& report, const Hardware& hardware, Metrics& metrics) {
  const double cycles = real(report.cycles);
  const double macs = real(report.macs);
  metrics.latency_cycles = cycles;
  metrics.energy_nj = report.energy_nj;
  metrics.power_mw = constants::kMilliwattPerNjPerCycle * report.energy_nj / cycles;
  metrics.area_um2 = report.block_area_um2;
  metrics.maestro_power_mw = report.power_mw;
  metrics.maestro_area_um2 = report.area_um2;
  metrics.macs = macs;
  metrics.macs_per_cycle = report.macs_per_cycle();
  metrics.utilization = report.utilization(hardware);
  metrics.active_pes = report.active_pes();
  metrics.arithmetic_intensity = report.arithmetic_intensity();
  metrics.l1_bytes = real(report.l1_total());
  metrics.l2_bytes = real(report.plan.size);
  metrics.input_l1_reads = macs;
  metrics.input_l1_writes = real(report.l1.unit_input);
  metrics.input_l2_reads = real(report.l2.fetched_input);
  metrics.input_l2_writes = real(report.plan.offchip_in[kInput]);
  metrics.filter_l1_reads = macs;
  metrics.filter_l1_writes = real(report.l1.unit_filter);
  metrics.filter_l2_reads = real(report.l2.fetched_filter);
  metrics.filter_l2_writes = real(report.plan.offchip_in[kFilter]);
  metrics.output_l1_reads = macs;
  metrics.output_l1_writes = macs;
  metrics.output_l2_reads = real(report.output_l2_reads());
  metrics.output_l2_writes = real(report.output_l2_writes());
  metrics.noc_peak_words_per_cycle = real(report.profile.peak_bw);
  metrics.noc_avg_words_per_cycle = report.noc_words_per_cycle();
  metrics.offchip_words_per_cycle = report.offchip_words_per_cycle();
  fill_spans(report, metrics);
  fill_counts(report, metrics);
}

}  // namespace

ExactModel::ExactModel(const Layer& layer, const Hardware& hardware)
    : layer_(layer),
      hardware_(hardware),
      checked_(countable_nest(layer)),
      nest_(checked_.value_or(LoopNest{})),
      tiler_(nest_, layer.op),
      boxes_(nest_, hardware_),
      traffic_(nest_) {}

Status ExactModel::evaluate(const Mapping& mapping, Metrics& metrics) {
  problem_ = -1;
  report_.cluster_levels = 0;
  if (!possible(hardware_)) return Status::bad_hw;
  if (!checked_) return Status::bad_layer;
  const Status status = tiler_.tile(mapping, hardware_.num_pes, tiling_, problem_);
  if (status != Status::ok) return status;
  if (!countable(nest_, tiling_.levels, hardware_.noc_latency)) {
    return Status::overflow;
  }
  findings_.onchip_cycles = boxes_.run(tiling_, findings_.profile);
  traffic_.count(tiling_, findings_.words);
  findings_.busy_pe_cycles =
      hardware_.simd_lanes == 1 ? nest_.macs() : traffic_.busy_pe_cycles(hardware_.simd_lanes);
  write_report(nest_, tiling_, hardware_, findings_, report_);
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
