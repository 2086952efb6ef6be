// Pybind11, and new arrays in less time than it takes: it keeps shape and strides on the heap.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <cstddef>

namespace gym::python {

namespace py = pybind11;

template <std::size_t N>
using Shape = std::array<py::ssize_t, N>;

// In C order; the entries have no values yet.
template <typename T, std::size_t N>
py::array_t<T, py::array::c_style> new_array(const Shape<N>& shape) {
  const auto& numpy = py::detail::npy_api::get();
  PyObject* type = py::dtype::of<T>().release().ptr();
  PyObject* array = numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_, type, N, shape.data(), nullptr,
                                                nullptr, 0, nullptr);
  if (array == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::array_t<T, py::array::c_style>>(array);
}

}  // namespace gym::python
