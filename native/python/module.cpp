// The Python module. All bindings are one unit: pybind11's own headers take five seconds a unit.
#include "../core/constants.hpp"
#include "../core/hardware.hpp"
#include "../core/metrics.hpp"
#include "../core/status.hpp"
#include "../maestro/analysis.hpp"
#include "agents.hpp"
#include "arrays.hpp"
#include "evaluator.hpp"
#include "hierarchy.hpp"
#include "hierarchy_space.hpp"
#include "improve.hpp"
#include "masks.hpp"
#include "optimum.hpp"
#include "papers.hpp"
#include "perceptrons.hpp"
#include "prior.hpp"
#include "problem.hpp"
#include "relaxed.hpp"
#include "report.hpp"

using namespace gym::python;

PYBIND11_MODULE(_native, m) {
  m.doc() = "C++ core: cost models, map space decoding and batch evaluation.";
  m.attr("METRICS") = py::tuple(py::cast(interned(gym::kMetricNames)));
  m.attr("STATUSES") = py::tuple(py::cast(interned(gym::kStatusNames)));
  m.attr("HAS_EXTENDED_PRECISION") = gym::maestro::kHasExtendedPrecision;
  m.attr("MAX_ENERGY") = gym::kMaxEnergy;
  m.attr("MAC_ENERGY_NJ") = gym::constants::kMacEnergyNj;
  m.attr("L1_ACCESS_MACS") = gym::constants::kL1AccessMacs;
  m.attr("L2_ACCESS_MACS") = gym::constants::kL2AccessMacs;
  bind_hardware(m);
  bind_layer(m);
  bind_space(m);
  bind_evaluator(m);
  bind_observation(m);
  bind_network(m);
  bind_report(m);
  bind_optimum(m);
  bind_masks(m);
  bind_prior(m);
  bind_perceptrons(m);
  bind_agents(m);
  bind_quantised(m);
  bind_sparse(m);
  bind_hierarchy(m);
  bind_hierarchy_space(m);
  bind_relaxed(m);
  bind_improve(m);
}
