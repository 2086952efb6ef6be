#include "csv.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "../core/area_power.hpp"
#include "../core/integers.hpp"

namespace gym::maestro {

const std::string_view kCsvHeader =
    "Neural Network Name, Layer Number, NumPEs, Runtime (Cycles), "
    "Activity count-based Energy (nJ), Throughput (MACs/Cycle), "
    "Throughput Per Energy (GMACs/s*J), Area, Power, NoC BW Req (Elements/cycle), Avg BW Req, "
    "Peak BW Req, Vector Width, Offchip BW Req (Elements/cycle),  L2 SRAM Size Req (Bytes), "
    "L1 SRAM Size Req (Bytes), Multicasting Factor (Weight), Multicasting Factor (Input), "
    "Num Total Input Pixels, Num Total Weight Pixels, Ops/J, Num MACs, PE power, L1 power, "
    "L2 power, NOC power, input l1 read, input l1 write, input l2 read, input l2 write, "
    "input reuse factor,filter l1 read, filter l1 write, filter l2 read, filter l2 write, "
    "filter reuse factor,output l1 read, output l1 write, output l2 read, output l2 write, "
    "output reuse factor,Ingress Delay (Min), Ingress Delay (Max), Ingress Delay (Avg), "
    "Egress Delay (Min), Egress Delay (Max),  Egress Delay (Avg),Compute Delay (Min), "
    "Compute Delay (Min), Compute Delay (Avg),Avg number of utilized PEs, Arithmetic Intensity";

namespace {

double add_l1(double energy, const StoredL1Counts& counts) {
  for (const std::int64_t count : counts) energy += real(count) * constants::kL1AccessMacs;
  return energy;
}

class Cells {
 public:
  void integer(std::int64_t value) { texts_.push_back(std::to_string(value)); }

  // Six significant digits; every NaN the binary computes is a negative one.
  void real(long double value) {
    if (std::isnan(value)) {
      texts_.emplace_back("-nan");
      return;
    }
    char text[32];
    std::snprintf(text, sizeof text, "%Lg", value);
    texts_.emplace_back(text);
  }

  void ratio(std::int64_t a, std::int64_t b) {
    real(static_cast<long double>(a) / static_cast<long double>(b));
  }

  std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
};

void add_delays(Cells& cells, const Delays& delays, std::int64_t iterations) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  const long double average = delays.sum.value() / static_cast<long double>(iterations);
  cells.integer(iterations == 0 ? kNone : delays.min);
  cells.integer(delays.max);
  cells.integer(iterations == 0 ? kNone : static_cast<std::int64_t>(average));
}

void add_traffic(Cells& cells, const Traffic& traffic) {
  cells.integer(traffic.l1_read);
  cells.integer(traffic.l1_write);
  cells.integer(traffic.l2_read);
  cells.integer(traffic.l2_write);
  cells.ratio(traffic.l1_read, traffic.l1_write);
}

}  // namespace

std::int64_t required_l1_bytes(const LayerResult& result) {
  return wrap_add(wrap_add(result.l1_size[kInput], result.l1_size[kOutput]),
                  result.l1_size[kFilter]);
}

std::int64_t required_l2_bytes(const LayerResult& result) {
  const auto& traffic = result.top.traffic;
  return wrap_add(wrap_add(traffic[kInput].l2_size, traffic[kOutput].l2_size),
                  traffic[kFilter].l2_size);
}

double csv_energy_nj(const LayerResult& result, StoredL1Counts& stored) {
  double energy = result.nested ? add_l1(0.0, stored) : 0.0;
  energy = add_l2_energy<Count>(energy, result.top.traffic);
  std::size_t next = 0;
  for (const Traffic& traffic : result.top.traffic) {
    stored[next++] = traffic.l1_read;
    stored[next++] = traffic.l1_write;
  }
  if (!result.nested) energy = add_l1(energy, stored);
  return energy * constants::kMacEnergyNj;
}

std::vector<std::string> csv_cells(const Layer& layer, const LayerTable& table,
                                   const Machine& machine, const LayerResult& result,
                                   double energy_nj) {
  const LevelResult& top = result.top;
  const double macs = static_cast<double>(top.macs);
  const std::int32_t l1 = wrap32(required_l1_bytes(result));
  const std::int32_t l2 = wrap32(required_l2_bytes(result));
  const AreaPower cost = area_power<double>(machine.num_pes, machine.simd_lanes, machine.nocs[0].bw,
                                            l1, l2, PeSum::repeated);
  const Traffic& input = top.traffic[kInput];
  const Traffic& filter = top.traffic[kFilter];
  Cells cells;
  cells.integer(machine.num_pes);
  cells.integer(top.runtime);
  cells.real(energy_nj);
  cells.real(macs / static_cast<double>(top.runtime));
  cells.real(static_cast<long double>(top.macs) / static_cast<long double>(top.runtime) /
             energy_nj * 1e9L);
  cells.real(cost.area_um2);
  cells.real(cost.power_mw);
  cells.integer(top.peak_bw);
  cells.real(static_cast<double>(top.words_per_cycle.value()) /
             static_cast<double>(top.iterations));
  cells.integer(top.peak_bw);
  cells.integer(machine.simd_lanes);
  cells.integer(top.offchip_bw);
  cells.integer(l2);
  cells.integer(l1);
  cells.ratio(filter.l1_write, filter.l2_read);
  cells.ratio(input.l1_write, input.l2_read);
  cells.integer(listed_words(layer, table.tensors[kInput]));
  cells.integer(listed_words(layer, table.tensors[kFilter]));
  cells.real(macs / energy_nj * 1e9);
  cells.integer(top.macs);
  cells.real(cost.pe_power_mw);
  cells.real(cost.l1_power_mw);
  cells.real(cost.l2_power_mw);
  cells.real(cost.noc_power_mw);
  for (const Traffic& traffic : top.traffic) add_traffic(cells, traffic);
  add_delays(cells, top.ingress, top.iterations);
  add_delays(cells, top.egress, top.iterations);
  add_delays(cells, top.compute, top.iterations);
  cells.real(top.active_units);
  cells.real(top.intensity);
  return cells.take();
}

std::string csv_row(const std::string& network, const std::string& layer,
                    const std::vector<std::string>& cells) {
  // Cells up to "NOC power" are joined tightly, the counts after it with a blank.
  constexpr std::size_t kTightCells = 25;
  std::string row = network + ',' + layer;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    row += i < kTightCells ? "," : ", ";
    row += cells[i];
  }
  return row;
}

namespace {

struct BuiltLayer {
  LayerTable table;
  Levels levels;
};

bool first_of_its_type_is_batched(const std::vector<MappedLayer>& layers, Operator op) {
  const auto first = std::find_if(layers.begin(), layers.end(),
                                  [op](const MappedLayer& each) { return each.layer.op == op; });
  return lists(first->layer, kN);
}

// S4.1 appends a Cluster to every list it splits, which only a sharing layer notices (quirk Q19).
Mapping shared_list(const Mapping& mapping, std::int32_t num_pes) {
  std::int32_t size = num_pes;
  for (const Directive& directive : mapping) {
    if (directive.kind == Directive::Kind::cluster) size = directive.size;
  }
  Mapping shared = mapping;
  shared.push_back({Directive::Kind::cluster, 0, size, size});
  return shared;
}

bool has_empty_tile(const Mapping& mapping) {
  return std::any_of(mapping.begin(), mapping.end(),
                     [](const Directive& each) { return each.size <= 0 || each.offset <= 0; });
}

Status build(const std::vector<MappedLayer>& layers, const Machine& machine,
             std::vector<BuiltLayer>& built) {
  Mapping previous;
  for (const MappedLayer& each : layers) {
    if (has_empty_tile(each.mapping)) return Status::reference_exit;
    if (each.mapping.empty() && previous.empty()) return Status::reference_segv;
    previous = each.mapping.empty() ? shared_list(previous, machine.num_pes) : each.mapping;
    BuiltLayer& next = built.emplace_back();
    next.table = make_layer_table(each.layer, first_of_its_type_is_batched(layers, each.layer.op));
    const Status status = build_levels(next.table, previous, machine.num_pes,
                                       static_cast<int>(machine.nocs.size()), next.levels);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

}  // namespace

NetworkResult run_network(const std::vector<MappedLayer>& layers, const Machine& machine) {
  if (layers.empty()) return {Status::reference_abort, {}};
  std::vector<BuiltLayer> built;
  const Status status = build(layers, machine, built);
  if (status != Status::ok) return {status, {}};
  NetworkResult result;
  StoredL1Counts stored{};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerResult layer_result;
    Analysis analysis(built[i].table, machine);
    const Status run = analysis.run(built[i].levels, layer_result);
    if (run != Status::ok) return {run, {}};
    const double energy = csv_energy_nj(layer_result, stored);
    result.rows.push_back(
        csv_cells(layers[i].layer, built[i].table, machine, layer_result, energy));
  }
  return result;
}

}  // namespace gym::maestro
