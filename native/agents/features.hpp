// Features of 0 or 1 that choices of a head share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gym::agents {

// Sums begin with 0 and take one number after the other; what lacks a feature adds 0 to a sum,
// which changes none of its bits.
class Features {
 public:
  // A row for each choice, with 1 for each feature that it has.
  Features(const std::uint8_t* table, std::size_t choices, std::size_t width);

  std::size_t width() const { return width_; }
  // Adds to each choice the sum of the numbers of its features.
  void add_of_features(const double* numbers, double* choices) const;
  // Writes for each feature the sum of the numbers of the choices that have it.
  void sum_of_choices(const double* numbers, double* features) const;

 private:
  std::size_t choices_, width_;
  // Blocks of choices with a row of bits for each feature, and of features with one for each
  // choice.
  std::vector<std::uint8_t> by_choice_, by_feature_;
};

}  // namespace gym::agents
