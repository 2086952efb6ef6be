// Figures as environments show them, in one call each: numpy takes longer than the model.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "bind.hpp"

namespace gym::python {

namespace py = pybind11;

namespace {

using Figures = py::array_t<double, py::array::c_style>;

// Adds the figures of one row that there are, those that are not NaN, by name.
void add_figures(py::dict& target, const py::tuple& names, const Figures& row) {
  if (row.ndim() != 1 || row.size() != static_cast<py::ssize_t>(names.size())) {
    throw std::invalid_argument("a row of " + std::to_string(names.size()) + " figures needed");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double figure = row.data()[i];
    if (std::isnan(figure)) continue;
    const py::float_ value(figure);
    // Pybind11's own assignment makes three objects more.
    if (PyDict_SetItem(target.ptr(), PyTuple_GET_ITEM(names.ptr(), i), value.ptr()) != 0) {
      throw py::error_already_set();
    }
  }
}

// float32[N, C] of some columns of a batch: log10(1 + x) in so many decades, from 0 to 1; 0 where
// there is no figure.
py::array_t<float> log_scaled(const Figures& rows, const std::vector<py::ssize_t>& columns,
                              double decades) {
  if (rows.ndim() != 2) throw std::invalid_argument("rows of figures needed");
  for (const py::ssize_t column : columns) {
    if (column < 0 || column >= rows.shape(1)) throw std::invalid_argument("no such column");
  }
  const auto width = static_cast<py::ssize_t>(columns.size());
  py::array_t<float> scaled({rows.shape(0), width});
  float* target = scaled.mutable_data();
  for (py::ssize_t i = 0; i < rows.shape(0); ++i) {
    const double* row = rows.data() + i * rows.shape(1);
    for (const py::ssize_t column : columns) {
      // fmax prefers the 0 to NaN.
      const double figure = std::fmax(row[column], 0.0);
      *target++ = static_cast<float>(std::min(std::log10(1 + figure) / decades, 1.0));
    }
  }
  return scaled;
}

}  // namespace

void bind_figures(py::module_& module) {
  module.def("add_figures", &add_figures, py::arg("target"), py::arg("names"), py::arg("row"));
  module.def("log_scaled", &log_scaled, py::arg("rows"), py::arg("columns"), py::arg("decades"));
}

}  // namespace gym::python
