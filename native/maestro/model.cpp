#include "model.hpp"

#include <algorithm>

#include "csv.hpp"
#include "figures.hpp"

namespace gym::maestro {

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
