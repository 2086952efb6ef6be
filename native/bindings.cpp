// The Python face of the core: converts names, arrays and results.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>
#include <tuple>

#include "area.hpp"
#include "batch.hpp"
#include "constants.hpp"
#include "exact/model.hpp"
#include "maestro/csv.hpp"
#include "maestro/network.hpp"

namespace py = pybind11;

namespace {

using namespace gym;

constexpr std::array<std::string_view, kFirstOtherDim> kDimNames = {
    "C", "G", "K", "M", "N", "R", "S", "X", "Y", "X'", "Y'", "P", "Q"};
constexpr std::array<std::string_view, 5> kOperatorNames = {"CONV", "TRCONV", "DSCONV", "NGCONV",
                                                            "GEMM"};
constexpr std::array<std::string_view, 4> kKindNames = {"TemporalMap", "SpatialMap", "Cluster",
                                                        "malformed"};

template <std::size_t n>
std::size_t index_of(const std::array<std::string_view, n>& names, std::string_view name,
                     const char* what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw std::invalid_argument("unknown " + std::string(what) + " '" + std::string(name) + "'");
  }
  return static_cast<std::size_t>(found - names.begin());
}

using NamedValues = std::vector<std::pair<std::string, std::int32_t>>;
using NamedDirective = std::tuple<std::string, std::string, std::int32_t, std::int32_t>;

// A layer and the names of its dimensions, in which mappings are read and written.
class NamedLayer {
 public:
  NamedLayer(const std::string& op, const NamedValues& extents, const NamedValues& strides)
      : names_(kDimNames.begin(), kDimNames.end()) {
    layer.op = static_cast<Operator>(index_of(kOperatorNames, op, "operator"));
    for (const auto& [name, value] : extents) layer.extents.push_back({intern(name), value});
    for (const auto& [name, value] : strides) layer.stride[intern(name)] = value;
  }

  Dim dim(std::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    return found == names_.end() ? kUnknownDim : static_cast<Dim>(found - names_.begin());
  }

  Mapping read(const std::vector<NamedDirective>& directives) const {
    Mapping mapping;
    for (const auto& [kind, name, size, offset] : directives) {
      const auto id = static_cast<Directive::Kind>(index_of(kKindNames, kind, "directive"));
      const bool loop = id == Directive::Kind::temporal || id == Directive::Kind::spatial;
      mapping.push_back({id, loop ? dim(name) : Dim{0}, size, offset});
    }
    return mapping;
  }

  std::vector<NamedDirective> write(const Mapping& mapping) const {
    std::vector<NamedDirective> directives;
    for (const Directive& each : mapping) {
      const bool cluster = each.kind == Directive::Kind::cluster;
      directives.emplace_back(kKindNames[static_cast<std::size_t>(each.kind)],
                              cluster ? "" : names_[each.dim], each.size, each.offset);
    }
    return directives;
  }

  Layer layer;

 private:
  Dim intern(const std::string& name) {
    const Dim known = dim(name);
    if (known != kUnknownDim) return known;
    if (names_.size() >= kUnknownDim) throw std::invalid_argument("too many dimensions");
    names_.push_back(name);
    return static_cast<Dim>(names_.size() - 1);
  }

  std::vector<std::string> names_;
};

Hardware make_hardware(std::int32_t num_pes, std::int32_t simd_lanes, std::int32_t noc_bw,
                       std::int64_t noc_latency, std::int32_t offchip_bw,
                       std::optional<std::int64_t> l1_bytes, std::optional<std::int64_t> l2_bytes,
                       double offchip_cost_macs) {
  return {num_pes,
          simd_lanes,
          noc_bw,
          noc_latency,
          offchip_bw,
          l1_bytes.value_or(kUnlimitedBytes),
          l2_bytes.value_or(kUnlimitedBytes),
          offchip_cost_macs};
}

std::vector<std::string> metric_names() { return {kMetricNames.begin(), kMetricNames.end()}; }
std::vector<std::string> status_names() { return {kStatusNames.begin(), kStatusNames.end()}; }

using Points = py::array_t<std::int32_t, py::array::c_style>;

// Checked points, copied: the caller may change its array while the batch runs.
struct PointBatch {
  std::vector<std::int32_t> data;
  std::int64_t count;
};

PointBatch copy_points(const MapSpace& space, const py::array& points) {
  if (!py::isinstance<Points>(points) || points.ndim() != 2 ||
      points.shape(1) != static_cast<py::ssize_t>(space.parameters.size())) {
    throw std::invalid_argument("points must be a C-contiguous int32 array of shape [N, " +
                                std::to_string(space.parameters.size()) + "], got " +
                                py::str(points.dtype()).cast<std::string>() + " of shape " +
                                py::str(points.attr("shape")).cast<std::string>());
  }
  const auto* data = static_cast<const std::int32_t*>(points.data());
  PointBatch batch{{data, data + points.size()}, points.shape(0)};
  const std::int64_t bad = space.first_out_of_range(batch.data.data(), points.size());
  if (bad >= 0) {
    const auto width = static_cast<std::int64_t>(space.parameters.size());
    const auto& parameter = space.parameters[static_cast<std::size_t>(bad % width)];
    throw std::invalid_argument("point " + std::to_string(bad / width) + ": " + parameter.name +
                                " = " + std::to_string(batch.data[bad]) + " is not in 0.." +
                                std::to_string(parameter.choices - 1));
  }
  return batch;
}

Choice make_choice(const std::pair<int, std::vector<std::int32_t>>& choice) {
  return {choice.first, choice.second};
}

class NamedSpace {
 public:
  using ChoiceSpec = std::pair<int, std::vector<std::int32_t>>;
  using LevelSpec = std::tuple<int, ChoiceSpec, std::vector<ChoiceSpec>>;

  NamedSpace(const NamedLayer& layer, const NamedValues& parameters,
             const std::vector<std::string>& dims, const std::array<LevelSpec, 2>& levels,
             const ChoiceSpec& cluster)
      : layer_(layer) {
    for (const auto& [name, choices] : parameters) space.parameters.push_back({name, choices});
    for (const std::string& name : dims) space.dims.push_back(layer.dim(name));
    for (std::size_t j = 0; j < levels.size(); ++j) {
      const auto& [order, parallel, tiles] = levels[j];
      MapSpace::Level& level = space.levels[j];
      level.order_column = order;
      level.parallel = make_choice(parallel);
      for (const ChoiceSpec& tile : tiles) level.tiles.push_back(make_choice(tile));
    }
    space.cluster = make_choice(cluster);
  }

  std::vector<NamedDirective> decode(const py::array& point) const {
    const py::array rows = point.attr("reshape")(1, -1);
    const PointBatch batch = copy_points(space, rows);
    Mapping mapping;
    space.decode(batch.data.data(), mapping);
    return layer_.write(mapping);
  }

  MapSpace space;

 private:
  NamedLayer layer_;
};

class Evaluator {
  static constexpr std::int64_t kBlock = 1 << 15;

 public:
  Evaluator(const std::string& model, const NamedLayer& layer, const Hardware& hardware,
            bool guarded)
      : layer_(layer), batch_(make_spec(model, layer, hardware, guarded)) {}

  py::tuple evaluate(const NamedSpace& space, const py::array& points, int threads) {
    const PointBatch batch = copy_points(space.space, points);
    py::array_t<double> rows({batch.count, static_cast<std::int64_t>(kMetrics)});
    py::array_t<std::uint8_t> statuses(batch.count);
    auto* row_data = reinterpret_cast<Metrics*>(rows.mutable_data());
    auto* status_data = reinterpret_cast<Status*>(statuses.mutable_data());
    const auto width = static_cast<std::int64_t>(space.space.parameters.size());
    for (std::int64_t start = 0; start < batch.count; start += kBlock) {
      // Between blocks Ctrl-C gets through.
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      const std::int64_t count = std::min(kBlock, batch.count - start);
      py::gil_scoped_release release;
      batch_.evaluate(space.space, batch.data.data() + start * width, count, threads,
                      row_data + start, status_data + start);
    }
    return py::make_tuple(rows, statuses);
  }

  // Plain Python numbers, so that a single mapping needs no numpy.
  py::tuple evaluate_mapping(const std::vector<NamedDirective>& directives) {
    const Mapping mapping = layer_.read(directives);
    BatchEvaluator::Single single;
    {
      py::gil_scoped_release release;
      single = batch_.evaluate(mapping);
    }
    const auto* figures = reinterpret_cast<const double*>(&single.metrics);
    py::list clusters;
    for (const ClusterMetrics& each : single.clusters) {
      clusters.append(py::make_tuple(each.input_writes, each.filter_writes, each.input_reads,
                                     each.filter_reads, each.output_writes, each.output_reads,
                                     each.bytes));
    }
    return py::make_tuple(std::vector<double>(figures, figures + kMetrics),
                          kStatusNames[static_cast<std::size_t>(single.status)], clusters,
                          single.problem);
  }

 private:
  static ScorerSpec make_spec(const std::string& model, const NamedLayer& layer,
                              const Hardware& hardware, bool guarded) {
    if (!make_model(model, layer.layer, hardware)) {
      throw std::invalid_argument("unknown model '" + model + "'");
    }
    if (!loop_nest(layer.layer)) throw std::invalid_argument("the layer has no outputs");
    return {model, layer.layer, hardware, guarded};
  }

  NamedLayer layer_;
  BatchEvaluator batch_;
};

py::tuple run_network(const std::vector<NamedLayer>& layers,
                      const std::vector<std::vector<NamedDirective>>& mappings,
                      std::int32_t num_pes, std::int32_t simd_lanes, std::int32_t offchip_bw,
                      const std::vector<std::pair<std::int32_t, std::int32_t>>& nocs) {
  std::vector<maestro::MappedLayer> mapped;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    mapped.push_back({layers[i].layer, layers[i].read(mappings.at(i))});
  }
  maestro::Machine machine{num_pes, simd_lanes, offchip_bw, {}};
  for (const auto& [bw, latency] : nocs) machine.nocs.push_back({bw, latency});
  maestro::NetworkResult result;
  {
    py::gil_scoped_release release;
    result = maestro::run_network(mapped, machine);
  }
  return py::make_tuple(kStatusNames[static_cast<std::size_t>(result.status)], result.rows);
}

py::dict cluster_counts(const exact::ClusterBuffers& buffers) {
  py::dict counts;
  counts["write_input"] = buffers.written.unit_input;
  counts["write_filter"] = buffers.written.unit_filter;
  counts["read_input"] = buffers.read.fetched_input;
  counts["read_filter"] = buffers.read.fetched_filter;
  counts["write_output"] = buffers.read.leaving;
  counts["read_output"] = buffers.read.leaving;
  counts["size"] = buffers.size;
  return counts;
}

void add_span(py::dict& results, const char* name, const exact::Report& report,
              const exact::Span& span) {
  const std::string prefix(name);
  results[py::str(prefix + "_min")] = span.min;
  results[py::str(prefix + "_max")] = span.max;
  results[py::str(prefix + "_sum")] = span.sum;
  results[py::str(prefix + "_avg")] = report.average(span);
}

py::dict exact_results(const exact::Report& report, const Hardware& hardware) {
  py::dict results;
  results["macs"] = report.macs;
  results["offchip_read"] = report.plan.words_in();
  results["offchip_write"] = report.plan.offchip_out;
  results["l2_resident"] = report.plan.resident;
  results["onchip_cycles"] = report.onchip_cycles;
  results["cycles"] = report.cycles;
  results["busy_pe_cycles"] = report.busy_pe_cycles;
  results["l2_read_input"] = report.l2.fetched_input;
  results["l2_read_filter"] = report.l2.fetched_filter;
  results["l2_write_input"] = report.plan.offchip_in[kInput];
  results["l2_write_filter"] = report.plan.offchip_in[kFilter];
  results["leaving_output"] = report.l2.leaving;
  results["l2_write_output"] = report.output_l2_writes();
  results["l2_psum_read_output"] = report.psum_reads();
  results["l2_read_output"] = report.output_l2_reads();
  results["l1_write_input"] = report.l1.unit_input;
  results["l1_write_filter"] = report.l1.unit_filter;
  for (const char* name :
       {"l1_read_input", "l1_read_filter", "l1_read_output", "l1_write_output"}) {
    results[name] = report.macs;
  }
  results["unit_write_input"] = report.l2.unit_input;
  results["unit_write_filter"] = report.l2.unit_filter;
  py::list clusters;
  for (int j = 0; j < report.cluster_levels; ++j)
    clusters.append(cluster_counts(report.clusters[j]));
  results["mid"] = clusters;
  results["l1_size"] = report.l1_size;
  results["l2_size"] = report.plan.size;
  results["l2_used"] = report.plan.used;
  results["l1_share"] = report.l1_share;
  results["l1_total"] = report.l1_total();
  results["l2_hold"] = report.plan.hold;
  results["first_in"] = report.profile.first_in;
  results["last_out"] = report.profile.last_out;
  results["steps"] = report.profile.steps;
  add_span(results, "ingress", report, report.profile.ingress);
  add_span(results, "compute", report, report.profile.compute);
  add_span(results, "egress", report, report.profile.egress);
  results["peak_bw"] = report.profile.peak_bw;
  results["avg_bw"] = report.noc_words_per_cycle();
  results["offchip_bw_req"] = report.offchip_words_per_cycle();
  results["throughput"] = report.macs_per_cycle();
  results["avg_active_pes"] = report.active_pes();
  results["utilization"] = report.utilization(hardware);
  results["arithmetic_intensity"] = report.arithmetic_intensity();
  results["multicast_input"] = report.input_multicast();
  results["multicast_filter"] = report.filter_multicast();
  results["reuse_input"] = report.input_reuse();
  results["reuse_filter"] = report.filter_reuse();
  results["l1_accesses"] = report.l1_accesses;
  results["l2_accesses"] = report.l2_accesses;
  results["mid_accesses"] = report.mid_accesses;
  results["energy"] = report.energy_nj;
  results["area"] = report.area_um2;
  results["power"] = report.power_mw;
  results["gamma_area"] = report.block_area_um2;
  return results;
}

py::tuple exact_report(const NamedLayer& layer, const std::vector<NamedDirective>& directives,
                       const Hardware& hardware) {
  exact::ExactModel model(layer.layer, hardware);
  Metrics metrics;
  Status status = model.evaluate(layer.read(directives), metrics);
  py::object results = py::none();
  if (status == Status::ok) {
    const exact::Report& report = model.report();
    results = exact_results(report, hardware);
    if (report.l1_total() > hardware.l1_bytes) {
      status = Status::l1_overflow;
    } else if (report.plan.size > hardware.l2_bytes) {
      status = Status::l2_overflow;
    }
  }
  return py::make_tuple(kStatusNames[static_cast<std::size_t>(status)], results);
}

py::dict layer_facts(const NamedLayer& layer) {
  const auto nest = loop_nest(layer.layer);
  if (!nest) throw std::invalid_argument("the layer has no outputs");
  py::dict facts;
  facts["macs"] = nest->macs();
  facts["input_words"] = nest->words(kInput);
  facts["filter_words"] = nest->words(kFilter);
  facts["output_words"] = nest->words(kOutput);
  facts["output_rows"] = nest->extent[kLoopP];
  facts["output_columns"] = nest->extent[kLoopQ];
  return facts;
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "C++ core: cost models, map space decoding and batch evaluation.";
  m.attr("METRICS") = py::tuple(py::cast(metric_names()));
  m.attr("STATUSES") = py::tuple(py::cast(status_names()));
  m.attr("CSV_HEADER") = std::string(maestro::kCsvHeader);
  m.attr("MAC_ENERGY_NJ") = constants::kMacEnergyNj;
  m.attr("L1_ACCESS_MACS") = constants::kL1AccessMacs;
  m.attr("L2_ACCESS_MACS") = constants::kL2AccessMacs;

  py::class_<Hardware>(m, "Hardware")
      .def(py::init(&make_hardware), py::kw_only(), py::arg("num_pes"), py::arg("simd_lanes"),
           py::arg("noc_bw"), py::arg("noc_latency"), py::arg("offchip_bw"), py::arg("l1_bytes"),
           py::arg("l2_bytes"), py::arg("offchip_cost_macs") = 0.0);
  py::class_<NamedLayer>(m, "Layer")
      .def(py::init<const std::string&, const NamedValues&, const NamedValues&>(),
           py::arg("operator"), py::arg("extents"), py::arg("strides"))
      .def("facts", &layer_facts);
  py::class_<NamedSpace>(m, "MapSpace")
      .def(py::init<const NamedLayer&, const NamedValues&, const std::vector<std::string>&,
                    const std::array<NamedSpace::LevelSpec, 2>&, const NamedSpace::ChoiceSpec&>(),
           py::arg("layer"), py::arg("parameters"), py::arg("dims"), py::arg("levels"),
           py::arg("cluster"))
      .def("decode", &NamedSpace::decode, py::arg("point"));
  py::class_<Evaluator>(m, "BatchEvaluator")
      .def(py::init<const std::string&, const NamedLayer&, const Hardware&, bool>(),
           py::arg("model"), py::arg("layer"), py::arg("hardware"), py::arg("guarded"))
      .def("evaluate", &Evaluator::evaluate, py::arg("space"), py::arg("points"),
           py::arg("threads") = 1)
      .def("evaluate_mapping", &Evaluator::evaluate_mapping, py::arg("directives"));

  m.def("run_network", &run_network, py::arg("layers"), py::arg("mappings"), py::arg("num_pes"),
        py::arg("simd_lanes"), py::arg("offchip_bw"), py::arg("nocs"));
  m.def("exact_report", &exact_report, py::arg("layer"), py::arg("directives"),
        py::arg("hardware"));
  m.def("csv_row", &maestro::csv_row, py::arg("network"), py::arg("layer"), py::arg("cells"));
  m.def("block_area_um2", &block_area_um2, py::arg("hardware"), py::arg("l1_bytes"),
        py::arg("l2_bytes"));
}
