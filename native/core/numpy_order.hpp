// Random numbers and sums in numpy's order, so that they have its bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gym {

// What a bit generator of numpy hands out, as its numpy/random/bitgen.h has it.
struct BitGenerator {
  void* state;
  std::uint64_t (*next_uint64)(void* state);
  std::uint32_t (*next_uint32)(void* state);
  double (*next_double)(void* state);
  std::uint64_t (*next_raw)(void* state);
};

class Random {
 public:
  explicit Random(const BitGenerator& bits) : bits_(bits) {}

  // As `random()`: from 0 to less than 1.
  double uniform() { return bits_.next_double(bits_.state); }

  // As `integers(count)`, for a count from 1 to less than 2^32, by Lemire's method: the high half
  // of a product, drawn again where the low half would favour some numbers. One of one takes none.
  std::int64_t below(std::int64_t count) {
    if (count == 1) return 0;
    const auto choices = static_cast<std::uint32_t>(count);
    std::uint64_t product = draw() * choices;
    if (static_cast<std::uint32_t>(product) < choices) {
      const std::uint32_t least = -choices % choices;
      while (static_cast<std::uint32_t>(product) < least) product = draw() * choices;
    }
    return static_cast<std::int64_t>(product >> 32);
  }

  // As `shuffle`, whose places are drawn by masks until one is in range.
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i-- > 1;) {
      std::size_t other;
      do {
        other = draw() & (std::bit_ceil(i + 1) - 1);
      } while (other > i);
      std::swap(items[i], items[other]);
    }
  }

  // As `2 * integers(2) - 1`.
  int sign() { return below(2) == 0 ? -1 : 1; }

 private:
  std::uint64_t draw() { return bits_.next_uint32(bits_.state); }

  const BitGenerator& bits_;
};

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
