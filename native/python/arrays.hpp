// New arrays, faster than pybind11 makes them: it keeps shape and strides on the heap.
#pragma once

#include <pybind11/numpy.h>

#include <array>
#include <cstddef>

namespace gym::python {

template <std::size_t N>
using Shape = std::array<pybind11::ssize_t, N>;

// In C order; the entries have no values yet.
template <typename T, std::size_t N>
pybind11::array_t<T, pybind11::array::c_style> new_array(const Shape<N>& shape) {
  const auto& numpy = pybind11::detail::npy_api::get();
  PyObject* type = pybind11::dtype::of<T>().release().ptr();
  PyObject* array = numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_, type, N, shape.data(), nullptr,
                                                nullptr, 0, nullptr);
  if (array == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::array_t<T, pybind11::array::c_style>>(array);
}

}  // namespace gym::python
