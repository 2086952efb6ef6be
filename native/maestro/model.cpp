#include "model.hpp"

#include <algorithm>

#include "../guard.hpp"
#include "../loop_nest.hpp"
#include "csv.hpp"
#include "figures.hpp"

namespace gym::maestro {

namespace {

// Buffers are the sum of a tile's words, at most the MACs, over at most 3^8 steps and the units.
bool countable(const Layer& layer) {
  const std::optional<LoopNest> nest = loop_nest(layer);
  return nest && nest->macs_estimate() < 0x1p46;
}

// Words of a tensor that the units of a level have at first, at least: without strides, and without
// what units have in common.
std::int64_t array_words(const LayerTable& table, const Level& level, TensorId id) {
  const Tensor& tensor = table.tensors[id];
  const Dim spatial = level.directives[level.spatial[0]].dim;
  std::int64_t words = 1;
  for (int k = 0; k < tensor.count; ++k) {
    const Dim dim = tensor.dims[k];
    const bool slides = table.output_tile(dim) != dim;
    const std::int64_t halo = slides ? level.tiles[window_of(dim)].full - 1 : 0;
    std::int64_t size = level.tiles[dim].full - halo;
    if (dim == spatial) {
      // The last of several units may not be counted among the outputs: half of them always are.
      const bool dropped = id == kOutput && !slides;
      const std::int64_t all = level.extent[dim] - halo;
      size = std::max(size, std::min(size * level.units, dropped ? (all + 1) / 2 : all));
    }
    words *= size + (id == kInput ? halo : 0);
  }
  return words;
}

BasicSpan<Count> span_of(const Delays& delays, std::int64_t iterations) {
  const long double sum = delays.sum.value();
  return {delays.min, delays.max, static_cast<double>(sum),
          static_cast<double>(sum / static_cast<long double>(iterations))};
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
      analysis_(table_, machine_),
      countable_(countable(layer)),
      strided_(is_convolution(layer.op) && (layer.stride[kY] != 1 || layer.stride[kX] != 1)),
      wide_problem_(table_, hardware),
      lanes_(wide_problem_) {}

Status MaestroModel::evaluate(const Mapping& mapping, Metrics& metrics) {
  if (mapping.empty()) return Status::reference_segv;
  if (!parses(mapping)) return Status::reference_exit;
  Status status = build_levels(table_, mapping, machine_.num_pes,
                               static_cast<int>(machine_.nocs.size()), levels_);
  if (status != Status::ok) return status;
  status = analysis_.run(levels_, result_);
  if (status != Status::ok) return status;
  report(metrics);
  return Status::ok;
}

void MaestroModel::evaluate(const Points& points, const Results& results) {
  const bool several_windows = windows_[0].several() || windows_[1].several();
  if (several_windows) return Model::evaluate(points, results);
  const auto settle = [](std::int64_t, const MapSpace::Chosen&) -> std::optional<Status> {
    return std::nullopt;
  };
  const auto general = [&](std::int64_t i) {
    return Model::evaluate(points.space, points[i], results.rows[i]);
  };
  lanes_.evaluate(points, results, settle, general);
}

bool MaestroModel::may_fit(const MapSpace& space, const std::int32_t* point) {
  if (!countable_) return true;
  space.decode(point, decoded_);
  const auto nocs = static_cast<int>(machine_.nocs.size());
  if (build_levels(table_, decoded_, machine_.num_pes, nocs, levels_) != Status::ok) return true;
  std::int64_t l1 = 0, l2 = 0;
  for (const TensorId id : {kInput, kFilter, kOutput}) {
    l1 += 2 * tile_words(levels_.level[levels_.count - 1], table_.tensors[id]);
    // What the binary makes of strides has no such bound.
    if (!strided_) l2 += 2 * array_words(table_, levels_.level[0], id);
  }
  return check_capacities(real(l1), real(l2), hardware_) == Status::ok;
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

void MaestroModel::report(Metrics& metrics) const {
  const LevelResult& top = result_.top;
  StoredL1Counts none{};
  BasicFindings<Count> findings;
  findings.traffic = top.traffic;
  findings.runtime = top.runtime;
  findings.macs = top.macs;
  findings.iterations = top.iterations;
  findings.peak_bw = top.peak_bw;
  findings.offchip_bw = top.offchip_bw;
  findings.l1_bytes = required_l1_bytes(result_);
  findings.l2_bytes = required_l2_bytes(result_);
  findings.active_units = top.active_units;
  findings.intensity = top.intensity;
  findings.words_per_cycle =
      static_cast<double>(top.words_per_cycle.value() / static_cast<long double>(top.iterations));
  findings.csv_energy_nj = csv_energy_nj(result_, none);
  findings.ingress = span_of(top.ingress, top.iterations);
  findings.egress = span_of(top.egress, top.iterations);
  findings.compute = span_of(top.compute, top.iterations);
  fill(findings, hardware_, metrics);
}

}  // namespace gym::maestro
