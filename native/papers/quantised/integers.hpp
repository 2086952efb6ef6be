// Sums of products of 8-bit codes: the same integers on every processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gym::quantised {

// Inputs whose codes lie next to each other in a matrix, for each output.
constexpr std::size_t kGroup = 4;

// Where the code of an input and an output lies in a matrix of `groups` groups of inputs: in strips
// of 16 outputs.
constexpr std::size_t place_of(std::size_t input, std::size_t output, std::size_t groups) {
  return ((output / 16 * groups + input / kGroup) * 16 + output % 16) * kGroup + input % kGroup;
}

// Writes for each of `rows` rows the sums of products with such a matrix. Of at most 2^15 inputs no
// sum overflows. `outs` is a multiple of 16.
using Sums = void (*)(const std::uint8_t* in, std::size_t rows, std::size_t groups,
                      const std::int8_t* matrix, std::size_t outs, std::int32_t* sums);

struct Kernel {
  const char* name;
  Sums sums;
};

// The kernels that this processor has; the last is the fastest.
struct Kernels {
  const Kernel* first;
  std::size_t count;
};
Kernels kernels();

}  // namespace gym::quantised
