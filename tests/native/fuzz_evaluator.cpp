// libFuzzer target: any layer, machine and directive lists under both models, guarded or not, and
// as networks of the drop-in. A mapping must always have the same figures, and none impossible.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "outcomes.hpp"

namespace {

using driver::Outcome;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

bool same(double one, double other) {
  return one == other ? std::signbit(one) == std::signbit(other)
                      : std::isnan(one) && std::isnan(other);
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
         hw.offchip_bw > 0 && hw.offchip_cost_macs >= 0;
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
      const auto* figures = reinterpret_cast<const double*>(&one.single.metrics);
      const auto* others = reinterpret_cast<const double*>(&other.single.metrics);
      for (std::size_t i = 0; i < gym::kMetrics; ++i) {
        if (!same(figures[i], others[i])) fail("one mapping with two figures");
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
  const std::vector<Outcome> said = driver::outcomes(problem);
  if (is_machine(problem.hardware)) {
    for (const Outcome& each : said) check_figures(each);
  }
  check_repeats(said);
  driver::run_networks(problem);
  return 0;
}
