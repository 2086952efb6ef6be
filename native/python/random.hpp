// Random numbers of a generator of numpy.
#pragma once

#include <stdexcept>
#include <string_view>

#include "../core/numpy_order.hpp"
#include "pybind.hpp"

namespace gym::python {

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
