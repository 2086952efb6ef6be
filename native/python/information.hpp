// What a step of an environment tells of its mapping, by name.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "../metrics.hpp"
#include "../status.hpp"
#include "names.hpp"

namespace gym::python {

namespace py = pybind11;

class Informer {
 public:
  // Status, mapping, and the figures there are, those that are not NaN.
  py::dict inform(Status status, py::handle mapping, const Metrics& metrics);

 private:
  using Figures = std::array<double, kMetrics>;

  // An earlier one, without its mapping. A copy that is given other values is made faster than a
  // dictionary of so many names, and many figures are the same from mapping to mapping.
  struct Template {
    py::dict information;
    Figures figures = none();
  };

  static py::dict copy(const py::dict& information) {
    PyObject* copied = PyDict_Copy(information.ptr());
    if (copied == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::dict>(copied);
  }

  // Pybind11's own assignment makes three objects more.
  static void set(const py::dict& information, PyObject* name, py::handle value) {
    if (PyDict_SetItem(information.ptr(), name, value.ptr()) != 0) throw py::error_already_set();
  }

  static PyObject* item(const py::tuple& names, std::size_t i) {
    return PyTuple_GET_ITEM(names.ptr(), i);
  }

  static bool both_or_neither_missing(double a, double b) { return std::isnan(a) == std::isnan(b); }

  // To the sign of a zero.
  static bool same(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }

  static Figures none();
  void keep(py::dict information, const Figures& figures);

  py::str status_ = "status";
  py::str mapping_ = "mapping";
  py::tuple statuses_ = interned(kStatusNames);
  py::tuple metrics_ = interned(kMetricNames);
  Template template_;
};

inline Informer::Figures Informer::none() {
  Figures figures;
  figures.fill(std::numeric_limits<double>::quiet_NaN());
  return figures;
}

inline py::dict Informer::inform(Status status, py::handle mapping, const Metrics& metrics) {
  const auto figures = std::bit_cast<Figures>(metrics);
  // A copy: any object made or dropped here may run a program that comes here too.
  const Template earlier = template_;
  const bool alike =
      std::equal(figures.begin(), figures.end(), earlier.figures.begin(), both_or_neither_missing);
  py::dict information = alike ? copy(earlier.information) : py::dict();
  set(information, status_.ptr(), item(statuses_, static_cast<std::size_t>(status)));
  set(information, mapping_.ptr(), mapping);
  for (std::size_t i = 0; i < kMetrics; ++i) {
    if (std::isnan(figures[i]) || (alike && same(figures[i], earlier.figures[i]))) continue;
    set(information, item(metrics_, i), py::float_(figures[i]));
  }
  if (!alike) keep(copy(information), figures);
  return information;
}

inline void Informer::keep(py::dict information, const Figures& figures) {
  set(information, mapping_.ptr(), py::none());
  Template kept{std::move(information), figures};
  std::swap(template_, kept);
}

}  // namespace gym::python
