// Sums in numpy's order, so that they have its bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace gym {

// As `numpy.sum`: of up to 128 numbers eight sums side by side, of more the sum of two halves.
inline double pairwise_sum(const double* numbers, std::size_t count) {
  constexpr std::size_t kLanes = 8;
  constexpr std::size_t kBlock = 128;
  if (count > kBlock) {
    const std::size_t half = count / 2 - count / 2 % kLanes;
    return pairwise_sum(numbers, half) + pairwise_sum(numbers + half, count - half);
  }
  double sum = -0.0;
  std::size_t i = 0;
  if (count >= kLanes) {
    std::array<double, kLanes> lanes;
    std::copy_n(numbers, kLanes, lanes.begin());
    for (i = kLanes; i + kLanes <= count; i += kLanes) {
      for (std::size_t k = 0; k < kLanes; ++k) lanes[k] += numbers[i + k];
    }
    sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
          ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  }
  for (; i < count; ++i) sum += numbers[i];
  return sum;
}

// As `numpy.add.reduceat`, which begins with the first number and adds the sum of the others.
inline double reduced_sum(const double* numbers, std::size_t count) {
  return count == 1 ? numbers[0] : numbers[0] + pairwise_sum(numbers + 1, count - 1);
}

}  // namespace gym
