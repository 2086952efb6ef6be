// What a step of an environment tells of its mapping, by name.
#pragma once

#include <pybind11/pybind11.h>

#include <array>

#include "../metrics.hpp"
#include "../status.hpp"
#include "names.hpp"

namespace gym::python {

class Informer {
 public:
  // Status, mapping, and the figures there are, those that are not NaN.
  pybind11::dict inform(Status status, pybind11::handle mapping, const Metrics& metrics);

 private:
  pybind11::str status_ = "status";
  pybind11::str mapping_ = "mapping";
  pybind11::tuple statuses_ = interned(kStatusNames);
  pybind11::tuple metrics_ = interned(kMetricNames);
  // An earlier one, without its mapping, and which figures it has: a copy with other values is made
  // sooner than a dictionary of so many names.
  pybind11::dict blank_;
  std::array<bool, kMetrics> filled_{};
};

}  // namespace gym::python
