#include "perceptrons.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "../core/elementary.hpp"
#include "../core/processors.hpp"

namespace gym::perceptrons {

namespace {

// A register of the widest processor; others take it apart.
using Register = float __attribute__((vector_size(kRegister * sizeof(float)), aligned(4)));

// Sums of four rows, or of four registers of a row, are taken side by side, so that none waits for
// the one before it.
constexpr std::size_t kSums = 4;
// Numbers between layers that stay in the cache.
constexpr std::size_t kCached = 1 << 15;

// The product of rows, `stride` numbers apart, and a matrix, plus a bias. The matrix lies in strips
// of a register's outputs, each of which is read for all rows while it is in the cache.
GYM_FOR_EACH_PROCESSOR
void product(const float* in, std::size_t rows, std::size_t ins, std::size_t stride,
             const Register* strips, const Register* bias, std::size_t outs, float* out) {
  const std::size_t blocked = rows - rows % kSums;
  const std::size_t count = outs / kRegister;
  // Strips whose sums are taken side by side; the sums of the others are taken in four parts. So
  // no row depends on how many there are.
  const std::size_t whole = count - count % kSums;
  for (std::size_t j = 0; j < whole; ++j) {
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
  for (std::size_t r = 0; r < rows; ++r) {
    const float* x = in + r * stride;
    auto* to = reinterpret_cast<Register*>(out + r * outs);
    for (std::size_t j = 0; r >= blocked && j < whole; j += kSums) {
      Register sum[kSums] = {bias[j], bias[j + 1], bias[j + 2], bias[j + 3]};
      for (std::size_t i = 0; i < ins; ++i) {
        for (std::size_t k = 0; k < kSums; ++k) sum[k] += x[i] * strips[(j + k) * ins + i];
      }
      for (std::size_t k = 0; k < kSums; ++k) to[j + k] = sum[k];
    }
    for (std::size_t j = whole; j < count; ++j) {
      const Register* strip = strips + j * ins;
      Register sum[kSums] = {bias[j]};
      std::size_t i = 0;
      for (; i + kSums <= ins; i += kSums) {
        for (std::size_t k = 0; k < kSums; ++k) sum[k] += x[i + k] * strip[i + k];
      }
      for (; i < ins; ++i) sum[0] += x[i] * strip[i];
      to[j] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
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

std::size_t Shape::widest() const {
  return padded(*std::max_element(widths.begin(), widths.end()));
}

std::size_t Shape::chunk(std::size_t rows) const {
  const std::size_t fitting = kCached / (networks * widest());
  return std::min(rows, std::max(fitting, kSums));
}

void Shape::write(const float* found, std::size_t first, std::size_t count, std::size_t rows,
                  float* outputs) const {
  const std::size_t outs = widths.back();
  for (std::size_t network = 0; network < networks; ++network) {
    for (std::size_t row = 0; row < count; ++row) {
      std::copy_n(found + (network * count + row) * padded(outs), outs,
                  outputs + (network * rows + first + row) * outs);
    }
  }
}

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
  const std::size_t chunk = shape_.chunk(rows);
  thread_local std::array<std::vector<float>, 2> hidden;
  for (std::vector<float>& each : hidden) each.resize(shape_.networks * chunk * shape_.widest());
  for (std::size_t first = 0; first < rows; first += chunk) {
    const std::size_t count = std::min(chunk, rows - first);
    for (std::size_t layer = 0; layer < shape_.layers(); ++layer) {
      const std::size_t ins = widths[layer];
      const std::size_t outs = padded(widths[layer + 1]);
      float* out = hidden[layer % 2].data();
      for (std::size_t network = 0; network < shape_.networks; ++network) {
        const float* strips = &weights_[layer][network * ins * outs];
        const float* biases = &biases_[layer][network * outs];
        const float* in = layer == 0 ? inputs + ((shared ? 0 : network * rows) + first) * ins
                                     : &hidden[(layer + 1) % 2][network * count * padded(ins)];
        product(in, count, ins, layer == 0 ? ins : padded(ins),
                reinterpret_cast<const Register*>(strips),
                reinterpret_cast<const Register*>(biases), outs, out + network * count * outs);
      }
      // Of all networks at once: a short loop would wait for each number.
      if (layer + 1 < shape_.layers()) {
        activate(shape_.activation, out, shape_.networks * count * outs);
      }
    }
    shape_.write(hidden[(shape_.layers() + 1) % 2].data(), first, count, rows, outputs);
  }
}

}  // namespace gym::perceptrons
