#include "products.hpp"

#include "../core/processors.hpp"

namespace gym::perceptrons {

namespace {

// A register of the widest processor; others take it apart.
using Register = float __attribute__((vector_size(kRegister * sizeof(float)), aligned(4)));

}  // namespace

// Sums of four rows and two registers are taken side by side: what is read of the other matrix
// serves four rows, and no sum waits for the one before it.
GYM_FOR_EACH_PROCESSOR
void add_product(Strided matrix, std::size_t rows, std::size_t inner, const float* other,
                 std::size_t width, float* to) {
  constexpr std::size_t kRows = 4;
  const std::size_t blocked = rows - rows % kRows;
  for (std::size_t at = 0; at < width; at += 2 * kRegister) {
    // The last register of an odd number of them is taken twice, and written once.
    const std::size_t next = at + kRegister < width ? kRegister : 0;
    for (std::size_t row = 0; row < blocked; row += kRows) {
      const float* factors = matrix.first + row * matrix.row;
      float* sums = to + row * width + at;
      Register sum[kRows][2];
      for (std::size_t r = 0; r < kRows; ++r) {
        sum[r][0] = *reinterpret_cast<Register*>(sums + r * width);
        sum[r][1] = *reinterpret_cast<Register*>(sums + r * width + next);
      }
      for (std::size_t k = 0; k < inner; ++k) {
        const float* numbers = other + k * width + at;
        const Register first = *reinterpret_cast<const Register*>(numbers);
        const Register second = *reinterpret_cast<const Register*>(numbers + next);
        for (std::size_t r = 0; r < kRows; ++r) {
          const float factor = factors[r * matrix.row + k * matrix.column];
          sum[r][0] += factor * first;
          sum[r][1] += factor * second;
        }
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        *reinterpret_cast<Register*>(sums + r * width + next) = sum[r][1];
        *reinterpret_cast<Register*>(sums + r * width) = sum[r][0];
      }
    }
    for (std::size_t row = blocked; row < rows; ++row) {
      const float* factors = matrix.first + row * matrix.row;
      float* sums = to + row * width + at;
      Register first = *reinterpret_cast<Register*>(sums);
      Register second = *reinterpret_cast<Register*>(sums + next);
      for (std::size_t k = 0; k < inner; ++k) {
        const float factor = factors[k * matrix.column];
        first += factor * *reinterpret_cast<const Register*>(other + k * width + at);
        second += factor * *reinterpret_cast<const Register*>(other + k * width + at + next);
      }
      *reinterpret_cast<Register*>(sums + next) = second;
      *reinterpret_cast<Register*>(sums) = first;
    }
  }
}

}  // namespace gym::perceptrons
