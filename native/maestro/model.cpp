#include "model.hpp"

#include <algorithm>
#include <limits>

#include "csv.hpp"
#include "cut.hpp"
#include "figures.hpp"

namespace gym::maestro {

LeastBytes::LeastBytes(const Layer& layer, const LayerTable& table, const Hardware& hardware)
    : table_(table),
      hardware_(hardware),
      strided_(table.slides && (table.stride[kY] != 1 || table.stride[kX] != 1)) {
  // Of every tensor the words of all units, at most the MACs, are added up over at most 3^8 steps.
  const std::optional<LoopNest> nest = loop_nest(layer);
  countable_ = nest && nest->macs_estimate() < 0x1p46;
  for (const Dim axis : {kY, kX}) {
    const std::int64_t rows = std::int64_t{table.extent[axis]} + table.stride[axis];
    countable_ &= rows <= std::numeric_limits<std::int32_t>::max();
  }
}

bool LeastBytes::may_fit(const MapSpace& space, const MapSpace::Chosen& chosen) const {
  if (!countable_) return true;
  const Sizes outer = sizes(space, chosen.level[0]);
  const Sizes inner = sizes(space, chosen.level[1]);
  const Dim spatial = space.dims[static_cast<std::size_t>(chosen.level[0].parallel)];
  const std::int64_t units = hardware_.num_pes / chosen.cluster;
  std::int64_t l1 = 0, l2 = 0;
  for (const TensorId id : {kInput, kFilter, kOutput}) {
    l1 += 2 * tile_words(inner, id);
    // What the binary makes of strides has no such bound.
    if (!strided_) l2 += 2 * array_words(outer, spatial, units, id);
  }
  return hardware_.check_capacities(real(l1), real(l2)) == Status::ok;
}

// S4.2; of the table, not of the level, where the space leaves a dimension out.
LeastBytes::Sizes LeastBytes::sizes(const MapSpace& space,
                                    const MapSpace::Chosen::Level& level) const {
  Sizes sizes;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) sizes[dim] = table_.extent[dim];
  for (std::size_t d = 0; d < space.dims.size(); ++d) sizes[space.dims[d]] = level.tile[d];
  if (!table_.slides) return sizes;
  for (const Dim axis : {kY, kX}) {
    const Count window = table_.extent[window_of(axis)];
    const Count rows = sizes[output_axis(axis)] + sizes[window_of(axis)] - 1;
    const Count stride = table_.stride[axis];
    sizes[axis] = stride == 1 ? rows : shrink_tile<Count>(rows, stride, window, false).size;
  }
  return sizes;
}

// The output's by input rows and columns too (S7 step 1).
std::int64_t LeastBytes::tile_words(const Sizes& tile, TensorId id) const {
  const Tensor& tensor = table_.tensors[id];
  std::int64_t words = 1;
  for (int k = 0; k < tensor.count; ++k) words *= tile[tensor.dims[k]];
  return words;
}

// Words that the units of a level have at first (S6.4), without what neighbours have in common.
std::int64_t LeastBytes::array_words(const Sizes& tile, Dim spatial, std::int64_t units,
                                     TensorId id) const {
  const Tensor& tensor = table_.tensors[id];
  std::int64_t words = 1;
  for (int k = 0; k < tensor.count; ++k) {
    const Dim dim = tensor.dims[k];
    const Dim outputs = table_.output_tile(dim);
    const bool slides = outputs != dim;
    const std::int64_t halo = slides ? tile[window_of(dim)] - 1 : 0;
    std::int64_t size = tile[outputs];
    if (outputs == spatial) {
      // The last of several units may not be counted among the outputs; the others have half.
      const std::int64_t all = table_.extent[dim] - halo;
      const bool dropped = id == kOutput && !slides;
      size = std::max(size, std::min(size * units, dropped ? (all + 1) / 2 : all));
    }
    words *= size + (id == kInput ? halo : 0);
  }
  return words;
}

namespace {

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
      least_bytes_(layer, table_, hardware),
      analysis_(table_, machine_),
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
