// Multilayer perceptrons whose weights and activations are codes of at most 8 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../../perceptrons/perceptrons.hpp"
#include "integers.hpp"

namespace gym::quantised {

using perceptrons::Shape;

// A number is (code - zero) times scale.
struct Codes {
  float scale;
  std::int32_t zero;
};

// Layers of integer products. What a layer takes is made codes of, the sums become numbers again,
// to which bias and activation apply.
class QuantisedPerceptrons {
 public:
  // Of each layer, for every network: codes of weights, a row of outputs for each input; the scale
  // and the zero of each output's weights; biases; and how its inputs become codes from 0 to
  // `most`.
  struct Layer {
    const std::uint8_t* codes;
    const float* scales;
    const std::int32_t* zeros;
    const float* biases;
    const float* input_scales;
    const std::int32_t* input_zeros;
  };

  // Throws std::invalid_argument for a kernel that this processor lacks; an empty name is of the
  // fastest.
  QuantisedPerceptrons(Shape shape, const std::vector<Layer>& layers, int most,
                       std::string_view kernel);

  const Shape& shape() const { return shape_; }
  // As perceptrons::Perceptrons::run.
  void run(const float* inputs, bool shared, std::size_t rows, float* outputs) const;

 private:
  struct Packed {
    std::vector<std::int8_t> matrix;
    std::vector<float> scales, biases;
    // Of each output: its weights' zero, and what the zeros add to every sum.
    std::vector<std::int32_t> zeros, constants;
    std::vector<Codes> inputs;
  };

  static Packed pack(const Layer& layer, std::size_t networks, std::size_t ins, std::size_t outs);

  Shape shape_;
  float most_;
  Sums sums_;
  std::vector<Packed> layers_;
};

}  // namespace gym::quantised
