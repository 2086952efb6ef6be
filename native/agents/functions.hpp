// Functions of numpy, which the bindings call: its last bits are not those of the C library.
#pragma once

#include <cstddef>
#include <functional>

namespace gym::agents {

// Replaces each of some numbers by its function.
using Function = std::function<void(double* numbers, std::size_t count)>;

}  // namespace gym::agents
