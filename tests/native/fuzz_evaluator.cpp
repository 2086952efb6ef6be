// libFuzzer target: any layer, machine and directive lists under both models, guarded or not, and
// as networks of the drop-in. A mapping must always have the same figures, and none impossible.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "../../native/maestro/csv.hpp"
#include "batches.hpp"

namespace {

// What an evaluator said of one mapping.
struct Outcome {
  std::string model;
  bool guarded;
  std::size_t mapping;
  gym::BatchEvaluator::Single single;
};

// Of all mappings in turn, and then of the first again: by one evaluator for each model and guard.
std::vector<Outcome> outcomes(const driver::Problem& problem) {
  std::vector<Outcome> said;
  if (!gym::loop_nest(problem.layer)) return said;
  for (const std::string model : {"exact", "maestro"}) {
    for (const bool guarded : {false, true}) {
      gym::BatchEvaluator evaluator({model, problem.layer, problem.hardware, guarded});
      for (std::size_t i = 0; i <= problem.mappings.size(); ++i) {
        const std::size_t mapping = i < problem.mappings.size() ? i : 0;
        if (problem.mappings.empty()) break;
        said.push_back({model, guarded, mapping, evaluator.evaluate(problem.mappings[mapping])});
      }
    }
  }
  return said;
}

// What the drop-in's parser lets through.
bool is_parsed(const gym::Layer& layer) {
  return layer.stride[gym::kY] >= 1 && layer.stride[gym::kX] >= 1 &&
         std::all_of(layer.extents.begin(), layer.extents.end(),
                     [](const gym::Layer::Extent& each) { return each.value != 0; });
}

// Runs the drop-in, for sanitizers to watch: each mapping as a network, then all as one.
void run_networks(const driver::Problem& problem) {
  if (!is_parsed(problem.layer)) return;
  const gym::Hardware& hw = problem.hardware;
  gym::maestro::Machine machine{hw.num_pes, hw.simd_lanes, hw.offchip_bw, {}};
  for (int i = 0; i < 4; ++i) {
    machine.nocs.push_back({hw.noc_bw, static_cast<std::int32_t>(hw.noc_latency)});
  }
  std::vector<gym::maestro::MappedLayer> all;
  for (const gym::Mapping& mapping : problem.mappings) {
    all.push_back({problem.layer, mapping});
    gym::maestro::run_network({all.back()}, machine);
  }
  gym::maestro::run_network(all, machine);
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Ill-formed mappings and those the binary dies on have no figures.
bool has_figures(gym::Status status) {
  using gym::Status;
  const bool ill_formed = status > Status::ok && status < Status::l1_overflow;
  const bool death = status >= Status::reference_exit && status <= Status::reference_undefined;
  return !ill_formed && !death;
}

// Machines users can describe; others need only not crash.
bool is_machine(const gym::Hardware& hw) {
  return hw.num_pes > 0 && hw.simd_lanes > 0 && hw.noc_bw > 0 && hw.noc_latency >= 0 &&
         hw.offchip_bw > 0 && hw.energies.possible();
}

void check_figures(const Outcome& outcome) {
  const gym::Metrics& metrics = outcome.single.metrics;
  const auto* figures = reinterpret_cast<const double*>(&metrics);
  const bool empty =
      std::all_of(figures, figures + gym::kMetrics, [](double each) { return std::isnan(each); });
  if (empty == has_figures(outcome.single.status)) fail("figures do not fit the status");
  if (outcome.single.status != gym::Status::ok) return;
  for (const double each :
       {metrics.latency_cycles, metrics.energy_nj, metrics.power_mw, metrics.area_um2}) {
    if (!(each > 0 && std::isfinite(each))) fail("a valid mapping with an impossible figure");
  }
}

// A mapping has the same figures whatever was evaluated before, and with or without the guard.
void check_repeats(const std::vector<Outcome>& said) {
  for (const Outcome& one : said) {
    for (const Outcome& other : said) {
      if (one.model != other.model || one.mapping != other.mapping) continue;
      if (!driver::same_bits(one.single.metrics, other.single.metrics)) {
        fail("one mapping with two figures");
      }
      if (one.guarded == other.guarded && one.single.status != other.single.status) {
        fail("one mapping with two statuses");
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const driver::Problem problem = driver::read_problem({data, size});
  const std::vector<Outcome> said = outcomes(problem);
  if (is_machine(problem.hardware)) {
    for (const Outcome& each : said) check_figures(each);
  }
  check_repeats(said);
  run_networks(problem);
  return 0;
}
