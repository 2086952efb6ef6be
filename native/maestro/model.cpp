#include "model.hpp"

#include <algorithm>

#include "../area.hpp"
#include "../area_power.hpp"
#include "csv.hpp"
#include "energy.hpp"

namespace gym::maestro {

namespace {

using namespace constants;

// Every access is paid for, MACs included: what the CSV's energy leaves out (quirks Q1, Q2).
double total_energy_nj(const LevelResult& top) {
  double l1 = 0;
  double l2 = 0;
  for (const Traffic& traffic : top.traffic) {
    l1 += static_cast<double>(traffic.l1_read) + static_cast<double>(traffic.l1_write);
    l2 += static_cast<double>(traffic.l2_read) + static_cast<double>(traffic.l2_write);
  }
  return kMacEnergyNj * (static_cast<double>(top.macs) + kL1AccessMacs * l1 + kL2AccessMacs * l2);
}

double average(const Delays& delays, std::int64_t iterations) {
  return static_cast<double>(delays.sum.value() / static_cast<long double>(iterations));
}

}  // namespace

// The extents listed for a window, of which a loop over it may not be cut in time.
MaestroModel::Window::Window(const Layer& layer, Dim dim) {
  for (const Layer::Extent& extent : layer.extents) {
    if (extent.dim != dim) continue;
    least = std::min(least, extent.value);
    most = std::max(most, extent.value);
  }
}

MaestroModel::MaestroModel(const Layer& layer, const Hardware& hardware)
    : windows_{Window(layer, kR), Window(layer, kS)},
      hardware_(hardware),
      table_(make_layer_table(layer, lists(layer, kN))),
      machine_(make_machine(hardware)),
      analysis_(table_, machine_) {}

Status MaestroModel::evaluate(const Mapping& mapping, Metrics& metrics) {
  if (mapping.empty()) return Status::reference_segv;
  if (!parses(mapping)) return Status::reference_exit;
  Status status = build_levels(table_, mapping, machine_.num_pes,
                               static_cast<int>(machine_.nocs.size()), levels_);
  if (status != Status::ok) return status;
  status = analysis_.run(levels_, result_);
  if (status != Status::ok) return status;
  fill(metrics);
  return Status::ok;
}

// Whether the binary's parser takes the sizes: positive, and R or S not cut in time (S1.3).
bool MaestroModel::parses(const Mapping& mapping) const {
  for (const Directive& directive : mapping) {
    if (directive.size <= 0 || directive.offset <= 0) return false;
    const bool window = directive.dim == kR || directive.dim == kS;
    if (!window || directive.kind != Directive::Kind::temporal) continue;
    const Window& listed = windows_[directive.dim == kR ? 0 : 1];
    if (directive.size != directive.offset || directive.size > listed.least ||
        directive.size < listed.most) {
      return false;
    }
  }
  return true;
}

void MaestroModel::fill(Metrics& metrics) const {
  const LevelResult& top = result_.top;
  const Traffic& input = top.traffic[kInput];
  const Traffic& filter = top.traffic[kFilter];
  const Traffic& output = top.traffic[kOutput];
  const double l1 = static_cast<double>(required_l1_bytes(result_));
  const double l2 = static_cast<double>(required_l2_bytes(result_));
  const AreaPower cost = area_power(machine_.num_pes, machine_.simd_lanes, machine_.nocs[0].bw, l1,
                                    l2, PeSum::product);
  StoredL1Counts none{};
  const double cycles = static_cast<double>(top.runtime);
  const double macs = static_cast<double>(top.macs);
  metrics.latency_cycles = cycles;
  metrics.energy_nj = total_energy_nj(top);
  metrics.power_mw = kMilliwattPerNjPerCycle * metrics.energy_nj / cycles;
  metrics.area_um2 = block_area_um2(hardware_, l1, l2);
  metrics.csv_energy_nj = csv_energy_nj(result_, none);
  metrics.maestro_power_mw = cost.power_mw;
  metrics.maestro_area_um2 = cost.area_um2;
  metrics.macs = macs;
  metrics.macs_per_cycle = macs / cycles;
  metrics.utilization = macs / cycles / machine_.num_pes / machine_.simd_lanes;
  metrics.active_pes = top.active_units;
  metrics.arithmetic_intensity = top.intensity;
  metrics.l1_bytes = l1;
  metrics.l2_bytes = l2;
  metrics.input_l1_reads = static_cast<double>(input.l1_read);
  metrics.input_l1_writes = static_cast<double>(input.l1_write);
  metrics.input_l2_reads = static_cast<double>(input.l2_read);
  metrics.input_l2_writes = static_cast<double>(input.l2_write);
  metrics.filter_l1_reads = static_cast<double>(filter.l1_read);
  metrics.filter_l1_writes = static_cast<double>(filter.l1_write);
  metrics.filter_l2_reads = static_cast<double>(filter.l2_read);
  metrics.filter_l2_writes = static_cast<double>(filter.l2_write);
  metrics.output_l1_reads = static_cast<double>(output.l1_read);
  metrics.output_l1_writes = static_cast<double>(output.l1_write);
  metrics.output_l2_reads = static_cast<double>(output.l2_read);
  metrics.output_l2_writes = static_cast<double>(output.l2_write);
  metrics.noc_peak_words_per_cycle = static_cast<double>(top.peak_bw);
  metrics.noc_avg_words_per_cycle =
      static_cast<double>(top.words_per_cycle.value() / static_cast<long double>(top.iterations));
  metrics.offchip_words_per_cycle = static_cast<double>(top.offchip_bw);
  metrics.ingress_min_cycles = static_cast<double>(top.ingress.min);
  metrics.ingress_max_cycles = static_cast<double>(top.ingress.max);
  metrics.ingress_avg_cycles = average(top.ingress, top.iterations);
  metrics.egress_min_cycles = static_cast<double>(top.egress.min);
  metrics.egress_max_cycles = static_cast<double>(top.egress.max);
  metrics.egress_avg_cycles = average(top.egress, top.iterations);
  metrics.compute_min_cycles = static_cast<double>(top.compute.min);
  metrics.compute_max_cycles = static_cast<double>(top.compute.max);
  metrics.compute_avg_cycles = average(top.compute, top.iterations);
  metrics.ingress_sum_cycles = static_cast<double>(top.ingress.sum.value());
  metrics.egress_sum_cycles = static_cast<double>(top.egress.sum.value());
  metrics.compute_sum_cycles = static_cast<double>(top.compute.sum.value());
  metrics.steps = static_cast<double>(top.iterations);
}

}  // namespace gym::maestro
