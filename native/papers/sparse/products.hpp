// Products of matrices most of whose weights do not exist, and their gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gym::sparse {

// Columns come in multiples of the widest register.
constexpr std::size_t kRegister = 16;

// The weights of a matrix [inputs, outputs] that exist, those of each output after those of the one
// before: output j has the weights from ends[j] to ends[j + 1], each of the input that `from`
// names.
struct Links {
  Links(const bool* mask, std::size_t inputs, std::size_t outputs);

  std::size_t count() const { return from.size(); }

  std::size_t inputs, outputs;
  std::vector<std::int32_t> ends, from;
};

// Outputs [outputs, columns] of inputs [inputs, columns]. A column does not depend on the others.
void forward(const Links& links, const float* weights, const float* biases, const float* inputs,
             std::size_t columns, float* outputs);

// Gradients of the weights that exist and, unless `of_inputs` is null, of inputs [inputs, columns],
// where those of outputs [outputs, columns] are given.
void backward(const Links& links, const float* weights, const float* inputs,
              const float* of_outputs, std::size_t columns, float* of_weights, float* of_inputs);

}  // namespace gym::sparse
