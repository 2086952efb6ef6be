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
  using Figures = std::array<double, kMetrics>;

  // An earlier one, without its mapping. A copy that is given other values is made faster than a
  // dictionary of so many names, and many figures are the same from mapping to mapping.
  struct Template {
    pybind11::dict information;
    Figures figures = none();
  };

  static Figures none();
  void keep(pybind11::dict information, const Figures& figures);

  pybind11::str status_ = "status";
  pybind11::str mapping_ = "mapping";
  pybind11::tuple statuses_ = interned(kStatusNames);
  pybind11::tuple metrics_ = interned(kMetricNames);
  Template template_;
};

}  // namespace gym::python
