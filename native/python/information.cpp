#include "information.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace gym::python {

namespace py = pybind11;

namespace {

py::dict copy(const py::dict& information) {
  PyObject* copied = PyDict_Copy(information.ptr());
  if (copied == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::dict>(copied);
}

// Pybind11's own assignment makes three objects more.
void set(const py::dict& information, PyObject* name, py::handle value) {
  if (PyDict_SetItem(information.ptr(), name, value.ptr()) != 0) throw py::error_already_set();
}

PyObject* item(const py::tuple& names, std::size_t i) { return PyTuple_GET_ITEM(names.ptr(), i); }

bool both_or_neither_missing(double a, double b) { return std::isnan(a) == std::isnan(b); }

// To the sign of a zero.
bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

Informer::Figures Informer::none() {
  Figures figures;
  figures.fill(std::numeric_limits<double>::quiet_NaN());
  return figures;
}

py::dict Informer::inform(Status status, py::handle mapping, const Metrics& metrics) {
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

void Informer::keep(py::dict information, const Figures& figures) {
  set(information, mapping_.ptr(), py::none());
  Template kept{std::move(information), figures};
  std::swap(template_, kept);
}

}  // namespace gym::python
