// The Python module. All bindings are one unit: pybind11's own headers take five seconds a unit.
#include <pybind11/pybind11.h>

#include "../constants.hpp"
#include "../hardware.hpp"
#include "../metrics.hpp"
#include "../status.hpp"
#include "evaluator.hpp"
#include "hardware.hpp"
#include "names.hpp"
#include "network.hpp"
#include "observation.hpp"
#include "report.hpp"
#include "space.hpp"

PYBIND11_MODULE(_native, m) {
  m.doc() = "C++ core: cost models, map space decoding and batch evaluation.";
  m.attr("METRICS") = gym::python::interned(gym::kMetricNames);
  m.attr("STATUSES") = gym::python::interned(gym::kStatusNames);
  m.attr("MAX_OFFCHIP_COST_MACS") = gym::kMaxOffchipCostMacs;
  m.attr("MAC_ENERGY_NJ") = gym::constants::kMacEnergyNj;
  m.attr("L1_ACCESS_MACS") = gym::constants::kL1AccessMacs;
  m.attr("L2_ACCESS_MACS") = gym::constants::kL2AccessMacs;
  gym::python::bind_hardware(m);
  gym::python::bind_layer(m);
  gym::python::bind_space(m);
  gym::python::bind_evaluator(m);
  gym::python::bind_observation(m);
  gym::python::bind_network(m);
  gym::python::bind_report(m);
}
