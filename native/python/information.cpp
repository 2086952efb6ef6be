#include "information.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace gym::python {

namespace py = pybind11;

namespace {

// By value: making the copy may run programs that replace the original.
py::dict copy(py::dict information) {
  PyObject* copied = PyDict_Copy(information.ptr());
  if (copied == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::dict>(copied);
}

// Pybind11's own assignment makes three objects more.
void set(const py::dict& information, PyObject* name, py::handle value) {
  if (PyDict_SetItem(information.ptr(), name, value.ptr()) != 0) throw py::error_already_set();
}

PyObject* item(const py::tuple& names, std::size_t i) { return PyTuple_GET_ITEM(names.ptr(), i); }

}  // namespace

py::dict Informer::inform(Status status, py::handle mapping, const Metrics& metrics) {
  const auto* figures = reinterpret_cast<const double*>(&metrics);
  std::array<bool, kMetrics> filled;
  std::transform(figures, figures + kMetrics, filled.begin(),
                 [](double x) { return !std::isnan(x); });
  const bool alike = filled == filled_;
  py::dict information = alike ? copy(blank_) : py::dict();
  set(information, status_.ptr(), item(statuses_, static_cast<std::size_t>(status)));
  set(information, mapping_.ptr(), mapping);
  for (std::size_t i = 0; i < kMetrics; ++i) {
    if (filled[i]) set(information, item(metrics_, i), py::float_(figures[i]));
  }
  if (!alike) {
    py::dict blank = copy(information);
    set(blank, mapping_.ptr(), py::none());
    std::swap(blank_, blank);
    filled_ = filled;
  }
  return information;
}

}  // namespace gym::python
