// Pybind11, and what numpy hands over: arrays, points, generators of random numbers.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../core/map_space.hpp"
#include "../core/numpy_order.hpp"

namespace gym::python {

namespace py = pybind11;

template <std::size_t N>
using Shape = std::array<py::ssize_t, N>;

// In less time than pybind11 takes, which keeps shape and strides on the heap. In C order; the
// entries have no values yet.
template <typename T, std::size_t N>
py::array_t<T, py::array::c_style> new_array(const Shape<N>& shape) {
  const auto& numpy = py::detail::npy_api::get();
  PyObject* type = py::dtype::of<T>().release().ptr();
  PyObject* array = numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_, type, N, shape.data(), nullptr,
                                                nullptr, 0, nullptr);
  if (array == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::array_t<T, py::array::c_style>>(array);
}

using PointArray = py::array_t<std::int32_t, py::array::c_style>;

using AnyIntegers = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast |
                                                  py::detail::npy_api::NPY_ARRAY_ALIGNED_>;

inline std::string described(const py::array& array) {
  return py::str(array.dtype()).cast<std::string>() + " of shape " +
         py::str(array.attr("shape")).cast<std::string>();
}

inline std::invalid_argument out_of_range(const VectorSpace& space, std::int64_t index,
                                          const std::string& entry) {
  const auto width = static_cast<std::int64_t>(space.parameters.size());
  const auto& parameter = space.parameters[static_cast<std::size_t>(index % width)];
  return std::invalid_argument("point " + std::to_string(index / width) + ": " + parameter.name +
                               " = " + entry + " is not in 0.." +
                               std::to_string(parameter.choices - 1));
}

// The array numpy makes of values; what goes wrong meanwhile is said after what is `allowed()`, but
// for what is no fault of the values, such as Ctrl-C.
template <typename Allowed>
py::array to_array(const py::object& values, const Allowed& allowed) {
  try {
    return values;
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception) || error.matches(PyExc_MemoryError)) throw;
    throw std::invalid_argument(
        allowed() + ", got what is no array: " + py::str(error.value()).cast<std::string>());
  }
}

// Integers of a shape, else a complaint that begins with what is `allowed()`. None wraps into the
// range of a choice: what int32 cannot hold is refused.
template <std::size_t N, typename Allowed>
PointArray to_int32(const VectorSpace& space, const py::object& values, const Shape<N>& shape,
                    const Allowed& allowed) {
  using Limits = std::numeric_limits<std::int32_t>;
  const py::array given = to_array(values, allowed);
  const char kind = given.dtype().kind();
  // An empty list has no integers, nor has a vector of a space without a choice.
  const bool integral = kind == 'i' || kind == 'u' || shape.back() == 0;
  if (!integral ||
      !std::equal(shape.begin(), shape.end(), given.shape(), given.shape() + given.ndim())) {
    throw std::invalid_argument(allowed() + ", got " + described(given));
  }
  const AnyIntegers integers = given;
  PointArray points = new_array<std::int32_t>(shape);
  std::int32_t* target = points.mutable_data();
  for (py::ssize_t i = 0; i < integers.size(); ++i) {
    const std::int64_t value = integers.data()[i];
    // Unsigned integers beyond int64 have become negative.
    if (value < (kind == 'u' ? 0 : Limits::min()) || value > Limits::max()) {
      throw out_of_range(space, i, py::str(given.attr("item")(i)).cast<std::string>());
    }
    target[i] = static_cast<std::int32_t>(value);
  }
  return points;
}

// Throws std::invalid_argument unless the array is int32[N, D] in C order.
template <typename Space>
PointsOf<Space> points_of(const Space& space, const py::array& array) {
  const auto width = static_cast<py::ssize_t>(space.parameters.size());
  if (!py::isinstance<PointArray>(array) || array.ndim() != 2 || array.shape(1) != width) {
    throw std::invalid_argument("points must be a C-contiguous int32 array of shape [N, " +
                                std::to_string(width) + "], got " + described(array));
  }
  return {space, static_cast<const std::int32_t*>(array.data()), array.shape(0)};
}

// Throws std::invalid_argument, which names the entry of that index and value.
[[noreturn]] inline void refuse(const VectorSpace& space, std::int64_t index, std::int32_t value) {
  throw out_of_range(space, index, std::to_string(value));
}

// Throws the same if one of the points is out of range.
template <typename Space>
void require_in_range(const PointsOf<Space>& points) {
  const std::int64_t index = points.first_out_of_range();
  if (index >= 0) refuse(points.space, index, points.first[index]);
}

// A copy of any D integers as int32[D], or of N times D of them as int32[N, D]; their range is not
// checked. Throws std::invalid_argument for other values and for what int32 cannot hold.
inline PointArray to_point(const VectorSpace& space, const py::object& values) {
  const auto width = static_cast<py::ssize_t>(space.parameters.size());
  // A step of an environment has no time for the text.
  return to_int32(space, values, Shape<1>{width}, [width] {
    return "a point of this space is " + std::to_string(width) + " integers";
  });
}

inline PointArray to_points(const VectorSpace& space, const py::object& values, py::ssize_t count) {
  const auto width = static_cast<py::ssize_t>(space.parameters.size());
  return to_int32(space, values, Shape<2>{count, width}, [width, count] {
    const std::string number = std::to_string(count);
    return number + " points of this space are integers of shape (" + number + ", " +
           std::to_string(width) + ")";
  });
}

// Of the capsule of a bit generator, which must outlive it. Throws std::invalid_argument for
// another one.
inline Random random_of(const py::capsule& bits) {
  const char* name = bits.name();
  if (name == nullptr || std::string_view(name) != "BitGenerator") {
    throw std::invalid_argument("no capsule of a bit generator");
  }
  return Random(*bits.get_pointer<BitGenerator>());
}

}  // namespace gym::python
