#include "perceptrons.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "../core/elementary.hpp"
#include "../core/processors.hpp"

namespace gym::quantised {

namespace {

// A register of the widest processor; others take it apart.
using Register = float __attribute__((vector_size(kRegister * sizeof(float)), aligned(4)));

// Sums of four rows, or of four registers of a row, are taken side by side, so that none waits for
// the one before it.
constexpr std::size_t kSums = 4;
// Rows that go through all layers together, so that what lies between layers stays in the cache.
constexpr std::size_t kChunk = 64;

// The product of rows, `stride` numbers apart, and a matrix, plus a bias. The matrix lies in strips
// of a register's outputs, each of which is read for all rows while it is in the cache.
GYM_FOR_EACH_PROCESSOR
void product(const float* in, std::size_t rows, std::size_t ins, std::size_t stride,
             const Register* strips, const Register* bias, std::size_t outs, float* out) {
  const std::size_t blocked = rows - rows % kSums;
  const std::size_t count = outs / kRegister;
  for (std::size_t j = 0; j < count; ++j) {
    const Register* strip = strips + j * ins;
    for (std::size_t r = 0; r < blocked; r += kSums) {
      const float* x = in + r * stride;
      Register sum[kSums] = {bias[j], bias[j], bias[j], bias[j]};
      for (std::size_t i = 0; i < ins; ++i) {
        for (std::size_t k = 0; k < kSums; ++k) sum[k] += x[k * stride + i] * strip[i];
      }
      for (std::size_t k = 0; k < kSums; ++k) {
        *reinterpret_cast<Register*>(out + (r + k) * outs + j * kRegister) = sum[k];
      }
    }
  }
  for (std::size_t r = blocked; r < rows; ++r) {
    const float* x = in + r * stride;
    auto* to = reinterpret_cast<Register*>(out + r * outs);
    std::size_t j = 0;
    for (; j + kSums <= count; j += kSums) {
      Register sum[kSums] = {bias[j], bias[j + 1], bias[j + 2], bias[j + 3]};
      for (std::size_t i = 0; i < ins; ++i) {
        for (std::size_t k = 0; k < kSums; ++k) sum[k] += x[i] * strips[(j + k) * ins + i];
      }
      for (std::size_t k = 0; k < kSums; ++k) to[j + k] = sum[k];
    }
    for (; j < count; ++j) {
      Register sum = bias[j];
      for (std::size_t i = 0; i < ins; ++i) sum += x[i] * strips[j * ins + i];
      to[j] = sum;
    }
  }
}

GYM_FOR_EACH_PROCESSOR
void to_tanh(float* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = tanh_of(numbers[i]);
}

GYM_FOR_EACH_PROCESSOR
void to_relu(float* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = numbers[i] > 0 ? numbers[i] : 0;
}

// Cuts matrices into strips, the last of them filled up by zeros.
std::vector<float> in_strips(const float* from, std::size_t networks, std::size_t ins,
                             std::size_t outs) {
  std::vector<float> to(networks * ins * padded(outs));
  for (std::size_t network = 0; network < networks; ++network) {
    float* matrix = &to[network * ins * padded(outs)];
    for (std::size_t i = 0; i < ins; ++i) {
      for (std::size_t j = 0; j < outs; ++j) {
        matrix[(j / kRegister * ins + i) * kRegister + j % kRegister] = *from++;
      }
    }
  }
  return to;
}

}  // namespace

void activate(Activation activation, float* numbers, std::size_t count) {
  activation == Activation::relu ? to_relu(numbers, count) : to_tanh(numbers, count);
}

Perceptrons::Perceptrons(Shape shape, const std::vector<const float*>& weights,
                         const std::vector<const float*>& biases)
    : shape_(std::move(shape)) {
  for (std::size_t layer = 0; layer < shape_.layers(); ++layer) {
    const std::size_t ins = shape_.widths[layer];
    const std::size_t outs = shape_.widths[layer + 1];
    weights_.push_back(in_strips(weights[layer], shape_.networks, ins, outs));
    biases_.push_back(in_strips(biases[layer], shape_.networks, 1, outs));
  }
}

void Perceptrons::run(const float* inputs, bool shared, std::size_t rows, float* outputs) const {
  const std::vector<std::size_t>& widths = shape_.widths;
  const std::size_t widest = padded(*std::max_element(widths.begin(), widths.end()));
  thread_local std::array<std::vector<float>, 2> hidden;
  for (std::vector<float>& each : hidden) each.resize(std::min(rows, kChunk) * widest);
  for (std::size_t network = 0; network < shape_.networks; ++network) {
    const float* from = inputs + (shared ? 0 : network * rows * widths[0]);
    for (std::size_t first = 0; first < rows; first += kChunk) {
      const std::size_t count = std::min(kChunk, rows - first);
      const float* in = from + first * widths[0];
      std::size_t stride = widths[0];
      for (std::size_t layer = 0; layer < shape_.layers(); ++layer) {
        const std::size_t outs = padded(widths[layer + 1]);
        float* out = hidden[layer % 2].data();
        const float* strips = &weights_[layer][network * widths[layer] * outs];
        const float* biases = &biases_[layer][network * outs];
        product(in, count, widths[layer], stride, reinterpret_cast<const Register*>(strips),
                reinterpret_cast<const Register*>(biases), outs, out);
        if (layer + 1 < shape_.layers()) activate(shape_.activation, out, count * outs);
        in = out;
        stride = outs;
      }
      for (std::size_t row = 0; row < count; ++row) {
        outputs = std::copy_n(in + row * stride, widths.back(), outputs);
      }
    }
  }
}

}  // namespace gym::quantised
