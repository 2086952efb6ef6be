#include "network.hpp"

#include <algorithm>

#include "csv.hpp"

namespace gym::maestro {

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
