#include "quantised_perceptrons.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "../../core/processors.hpp"

namespace gym::quantised {

namespace {

// Weights are shifted by this much, so that their codes have a sign as the kernels want it.
constexpr std::int32_t kShift = 128;

constexpr std::size_t groups_of(std::size_t ins) { return (ins + kGroup - 1) / kGroup; }

// Rounds to the nearest integer, of two the even one, in plain arithmetic; below 2^22.
inline float rounded(float number) {
  constexpr float kBig = 0x1.8p23F;
  return (number + kBig) - kBig;
}

// Writes the codes of a row, and returns their sum.
GYM_FOR_EACH_PROCESSOR
std::int32_t encode(const float* numbers, std::size_t count, Codes codes, float most,
                    std::uint8_t* to) {
  std::int32_t sum = 0;
  const auto zero = static_cast<float>(codes.zero);
  for (std::size_t i = 0; i < count; ++i) {
    // Far outside of the codes rounding would not be exact.
    const float steps = std::min(std::max(numbers[i] / codes.scale, -0x1p20F), 0x1p20F);
    const float code = std::min(std::max(rounded(steps) + zero, 0.0F), most);
    const auto whole = static_cast<std::int32_t>(code);
    to[i] = static_cast<std::uint8_t>(whole);
    sum += whole;
  }
  return sum;
}

// Makes numbers of the sums of a row.
GYM_FOR_EACH_PROCESSOR
void decode(const std::int32_t* sums, std::int32_t of_inputs, float scale, const float* scales,
            const std::int32_t* zeros, const std::int32_t* constants, const float* biases,
            std::size_t outs, float* to) {
  for (std::size_t j = 0; j < outs; ++j) {
    const std::int32_t whole = sums[j] - zeros[j] * of_inputs + constants[j];
    to[j] = static_cast<float>(whole) * (scale * scales[j]) + biases[j];
  }
}

Sums find_sums(std::string_view name) {
  const Kernels all = kernels();
  if (name.empty()) return all.first[all.count - 1].sums;
  std::string names;
  for (std::size_t i = 0; i < all.count; ++i) {
    if (all.first[i].name == name) return all.first[i].sums;
    names += (i ? ", " : "") + std::string(all.first[i].name);
  }
  throw std::invalid_argument("kernel " + std::string(name) + "; this processor has: " + names);
}

}  // namespace

QuantisedPerceptrons::QuantisedPerceptrons(Shape shape, const std::vector<Layer>& layers, int most,
                                           std::string_view kernel)
    : shape_(std::move(shape)), most_(static_cast<float>(most)), sums_(find_sums(kernel)) {
  for (std::size_t layer = 0; layer < shape_.layers(); ++layer) {
    layers_.push_back(
        pack(layers[layer], shape_.networks, shape_.widths[layer], shape_.widths[layer + 1]));
  }
}

QuantisedPerceptrons::Packed QuantisedPerceptrons::pack(const Layer& layer, std::size_t networks,
                                                        std::size_t ins, std::size_t outs) {
  const std::size_t width = perceptrons::padded(outs);
  const std::size_t size = groups_of(ins) * width * kGroup;
  Packed packed;
  packed.matrix.resize(networks * size);
  packed.scales.resize(networks * width);
  packed.biases.resize(networks * width);
  packed.zeros.resize(networks * width);
  packed.constants.resize(networks * width);
  for (std::size_t network = 0; network < networks; ++network) {
    const std::int32_t input_zero = layer.input_zeros[network];
    packed.inputs.push_back({layer.input_scales[network], input_zero});
    for (std::size_t j = 0; j < outs; ++j) {
      const std::size_t from = network * outs + j;
      const std::size_t to = network * width + j;
      std::int32_t sum = 0;
      for (std::size_t i = 0; i < ins; ++i) {
        const std::int32_t code = layer.codes[(network * ins + i) * outs + j] - kShift;
        packed.matrix[network * size + place_of(i, j, groups_of(ins))] =
            static_cast<std::int8_t>(code);
        sum += code;
      }
      const std::int32_t zero = layer.zeros[from] - kShift;
      packed.scales[to] = layer.scales[from];
      packed.biases[to] = layer.biases[from];
      packed.zeros[to] = zero;
      packed.constants[to] = input_zero * (static_cast<std::int32_t>(ins) * zero - sum);
    }
  }
  return packed;
}

void QuantisedPerceptrons::run(const float* inputs, bool shared, std::size_t rows,
                               float* outputs) const {
  const std::vector<std::size_t>& widths = shape_.widths;
  const std::size_t chunk = shape_.chunk(rows);
  const std::size_t widest = shape_.widest();
  thread_local std::vector<float> numbers;
  thread_local std::vector<std::uint8_t> codes;
  thread_local std::vector<std::int32_t> sums;
  thread_local std::vector<std::int32_t> of_inputs;
  numbers.resize(shape_.networks * chunk * widest);
  codes.assign(chunk * widest, 0);
  sums.resize(chunk * widest);
  of_inputs.resize(chunk);
  for (std::size_t first = 0; first < rows; first += chunk) {
    const std::size_t count = std::min(chunk, rows - first);
    for (std::size_t layer = 0; layer < shape_.layers(); ++layer) {
      const Packed& packed = layers_[layer];
      const std::size_t ins = widths[layer];
      const std::size_t stride = layer == 0 ? ins : perceptrons::padded(ins);
      const std::size_t groups = groups_of(ins);
      const std::size_t outs = perceptrons::padded(widths[layer + 1]);
      // Networks are taken from the last on where a layer is wider than the one before it, so that
      // none is written over what another one still reads.
      for (std::size_t n = 0; n < shape_.networks; ++n) {
        const std::size_t network = outs > stride ? shape_.networks - 1 - n : n;
        const float* in = layer == 0 ? inputs + ((shared ? 0 : network * rows) + first) * ins
                                     : &numbers[network * count * stride];
        for (std::size_t row = 0; row < count; ++row) {
          // Inputs that fill up a group meet weights of 0.
          of_inputs[row] = encode(in + row * stride, ins, packed.inputs[network], most_,
                                  &codes[row * groups * kGroup]);
        }
        sums_(codes.data(), count, groups, &packed.matrix[network * groups * outs * kGroup], outs,
              sums.data());
        const std::size_t at = network * outs;
        for (std::size_t row = 0; row < count; ++row) {
          decode(&sums[row * outs], of_inputs[row], packed.inputs[network].scale,
                 &packed.scales[at], &packed.zeros[at], &packed.constants[at], &packed.biases[at],
                 outs, &numbers[(network * count + row) * outs]);
        }
      }
      if (layer + 1 < shape_.layers()) {
        activate(shape_.activation, numbers.data(), shape_.networks * count * outs);
      }
    }
    shape_.write(numbers.data(), first, count, rows, outputs);
  }
}

}  // namespace gym::quantised
