#include "products.hpp"

#include <algorithm>
#include <type_traits>

#include "../../core/processors.hpp"

namespace gym::sparse {

namespace {

// A register of the widest processor; others take it apart.
using Register = float __attribute__((vector_size(kRegister * sizeof(float)), aligned(4)));

// What is inlined into each clone of a function is compiled for its processor.
#define GYM_INLINE [[gnu::always_inline]] inline

GYM_INLINE Register& at(float* numbers, std::size_t registers) {
  return *reinterpret_cast<Register*>(numbers + registers * kRegister);
}

GYM_INLINE const Register& at(const float* numbers, std::size_t registers) {
  return *reinterpret_cast<const Register*>(numbers + registers * kRegister);
}

GYM_INLINE float sum_of(const Register& numbers) {
  float sums[kRegister];
  at(sums, 0) = numbers;
  for (std::size_t half = kRegister / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

// Columns from `first` on, R registers of each row: a link is looked up once for all of them.
template <std::size_t R>
GYM_INLINE void forward_block(const Links& links, const float* weights, const float* biases,
                              const float* inputs, std::size_t columns, std::size_t first,
                              float* outputs) {
  for (std::size_t j = 0; j < links.outputs; ++j) {
    Register sums[R];
    for (std::size_t r = 0; r < R; ++r) sums[r] = Register{} + biases[j];
    for (std::int32_t link = links.ends[j]; link < links.ends[j + 1]; ++link) {
      const float* row = inputs + static_cast<std::size_t>(links.from[link]) * columns + first;
      for (std::size_t r = 0; r < R; ++r) sums[r] += weights[link] * at(row, r);
    }
    for (std::size_t r = 0; r < R; ++r) at(outputs + j * columns + first, r) = sums[r];
  }
}

template <std::size_t R, bool kOfInputs>
GYM_INLINE void backward_block(const Links& links, const float* weights, const float* inputs,
                               const float* of_outputs, std::size_t columns, std::size_t first,
                               float* of_weights, float* of_inputs) {
  for (std::size_t j = 0; j < links.outputs; ++j) {
    Register gradients[R];
    for (std::size_t r = 0; r < R; ++r) gradients[r] = at(of_outputs + j * columns + first, r);
    for (std::int32_t link = links.ends[j]; link < links.ends[j + 1]; ++link) {
      const std::size_t place = static_cast<std::size_t>(links.from[link]) * columns + first;
      Register products{};
      for (std::size_t r = 0; r < R; ++r) {
        products += gradients[r] * at(inputs + place, r);
        if constexpr (kOfInputs) at(of_inputs + place, r) += weights[link] * gradients[r];
      }
      of_weights[link] += sum_of(products);
    }
  }
}

// Calls `block` for as many columns at a time as registers hold.
template <typename Block>
GYM_INLINE void in_blocks(std::size_t columns, const Block& block) {
  std::size_t first = 0;
  for (; first + 16 * kRegister <= columns; first += 16 * kRegister) {
    block(std::integral_constant<std::size_t, 16>(), first);
  }
  for (; first + 4 * kRegister <= columns; first += 4 * kRegister) {
    block(std::integral_constant<std::size_t, 4>(), first);
  }
  for (; first < columns; first += kRegister) {
    block(std::integral_constant<std::size_t, 1>(), first);
  }
}

}  // namespace

Links::Links(const bool* mask, std::size_t inputs, std::size_t outputs)
    : inputs(inputs), outputs(outputs), ends{0} {
  for (std::size_t j = 0; j < outputs; ++j) {
    for (std::size_t i = 0; i < inputs; ++i) {
      if (mask[i * outputs + j]) from.push_back(static_cast<std::int32_t>(i));
    }
    ends.push_back(static_cast<std::int32_t>(from.size()));
  }
}

GYM_FOR_EACH_PROCESSOR
void forward(const Links& links, const float* weights, const float* biases, const float* inputs,
             std::size_t columns, float* outputs) {
  in_blocks(columns, [&](auto registers, std::size_t first) __attribute__((always_inline)) {
    forward_block<registers.value>(links, weights, biases, inputs, columns, first, outputs);
  });
}

GYM_FOR_EACH_PROCESSOR
void backward(const Links& links, const float* weights, const float* inputs,
              const float* of_outputs, std::size_t columns, float* of_weights, float* of_inputs) {
  std::fill_n(of_weights, links.count(), 0.0F);
  if (of_inputs != nullptr) std::fill_n(of_inputs, links.inputs * columns, 0.0F);
  in_blocks(columns, [&](auto registers, std::size_t first) __attribute__((always_inline)) {
    if (of_inputs != nullptr) {
      backward_block<registers.value, true>(links, weights, inputs, of_outputs, columns, first,
                                            of_weights, of_inputs);
    } else {
      backward_block<registers.value, false>(links, weights, inputs, of_outputs, columns, first,
                                             of_weights, nullptr);
    }
  });
}

}  // namespace gym::sparse
