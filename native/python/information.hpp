// What a step of an environment tells of its mapping, by name.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "../metrics.hpp"
#include "../status.hpp"
#include "names.hpp"
#include "pybind.hpp"

namespace gym::python {

class Informer {
 public:
  // Status, mapping, and the figures there are, those that are not NaN.
  py::dict inform(Status status, py::handle mapping, const Metrics& metrics) {
    const auto figures = std::bit_cast<Figures>(metrics);
    // A copy: any object made or dropped here may run a program that comes here too.
    const Template earlier = template_;
    const bool alike = std::equal(figures.begin(), figures.end(), earlier.figures.begin(),
                                  both_or_neither_missing);
    py::dict information = alike ? copy(earlier.information) : py::dict();
    set(information, status_, statuses_[static_cast<std::size_t>(status)]);
    set(information, mapping_, mapping);
    for (std::size_t i = 0; i < kMetrics; ++i) {
      if (std::isnan(figures[i]) || (alike && same(figures[i], earlier.figures[i]))) continue;
      set(information, metrics_[i], py::float_(figures[i]));
    }
    if (!alike) keep(copy(information), figures);
    return information;
  }

 private:
  using Figures = std::array<double, kMetrics>;

  // An earlier one, without its mapping. A copy that is given other values is made faster than a
  // dictionary of so many names, and many figures are the same from mapping to mapping.
  struct Template {
    py::dict information;
    Figures figures = none();
  };

  static Figures none() {
    Figures figures;
    figures.fill(std::numeric_limits<double>::quiet_NaN());
    return figures;
  }

  static py::dict copy(const py::dict& information) {
    PyObject* copied = PyDict_Copy(information.ptr());
    if (copied == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::dict>(copied);
  }

  // Pybind11's own assignment makes three objects more.
  static void set(const py::dict& information, py::handle name, py::handle value) {
    if (PyDict_SetItem(information.ptr(), name.ptr(), value.ptr()) != 0) {
      throw py::error_already_set();
    }
  }

  static bool both_or_neither_missing(double a, double b) { return std::isnan(a) == std::isnan(b); }

  // To the sign of a zero.
  static bool same(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }

  void keep(py::dict information, const Figures& figures) {
    set(information, mapping_, py::none());
    Template kept{std::move(information), figures};
    std::swap(template_, kept);
  }

  const py::str status_ = "status";
  const py::str mapping_ = "mapping";
  const std::vector<py::str> statuses_ = interned(kStatusNames);
  const std::vector<py::str> metrics_ = interned(kMetricNames);
  Template template_;
};

}  // namespace gym::python
