// Multilayer perceptrons of several agents, each on rows of its own, all in one call.
#pragma once

#include <cstddef>
#include <vector>

#include "products.hpp"

namespace gym::perceptrons {

enum class Activation { relu, tanh };

// Of every network: how many numbers it takes, its hidden layers and its outputs have.
struct Shape {
  std::size_t networks;
  std::vector<std::size_t> widths;
  Activation activation;

  std::size_t layers() const { return widths.size() - 1; }
  // The widest layer, in whole registers.
  std::size_t widest() const;
  // How many of some rows go through all layers together, so that what lies between layers stays in
  // the cache.
  std::size_t chunk(std::size_t rows) const;
  // Writes what was found for `count` rows of each network, the first of them `first` of `rows`.
  void write(const float* found, std::size_t first, std::size_t count, std::size_t rows,
             float* outputs) const;
};

// Applies the activation to numbers.
void activate(Activation activation, float* numbers, std::size_t count);

// In 32-bit floating point. Sums are taken in the same order on every processor.
class Perceptrons {
 public:
  // Of each layer a matrix and a vector for every network, one after the other: a row of outputs
  // for each input.
  Perceptrons(Shape shape, const std::vector<const float*>& weights,
              const std::vector<const float*>& biases);

  const Shape& shape() const { return shape_; }
  // Writes the outputs of `rows` rows for each network, which all read the same rows if `shared`.
  void run(const float* inputs, bool shared, std::size_t rows, float* outputs) const;

 private:
  Shape shape_;
  // Of each layer, in strips of `kRegister` outputs.
  std::vector<std::vector<float>> weights_, biases_;
};

}  // namespace gym::perceptrons
