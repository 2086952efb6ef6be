// Products of small matrices whose rows are whole registers.
#pragma once

#include <cstddef>

namespace gym::perceptrons {

// Numbers of a register of the widest processor.
constexpr std::size_t kRegister = 16;

// The next multiple of a register.
constexpr std::size_t padded(std::size_t width) {
  return (width + kRegister - 1) / kRegister * kRegister;
}

// A matrix whose entries are `row` and `column` numbers apart: transposed if these are exchanged.
struct Strided {
  const float* first;
  std::size_t row, column;
};

// Adds to `rows` rows of `to` the product of a matrix with `inner` columns and one with rows of
// `width` numbers, a multiple of a register.
void add_product(Strided matrix, std::size_t rows, std::size_t inner, const float* other,
                 std::size_t width, float* to);

}  // namespace gym::perceptrons
