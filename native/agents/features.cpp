#include "features.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "../core/processors.hpp"

namespace gym::agents {

namespace {

// A register of the widest processor; others take it apart.
constexpr std::size_t kLanes = 8;
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));
using Bits = std::int64_t __attribute__((vector_size(kLanes * sizeof(double))));

// So many registers of sums are taken side by side, so that none waits for the one before it.
constexpr std::size_t kRegisters = 4;
constexpr std::size_t kBlock = kRegisters * kLanes;

// Of each byte a lane for each of its bits: all ones or zeros.
const auto kMasks = [] {
  std::array<Bits, 256> masks;
  for (std::size_t byte = 0; byte < masks.size(); ++byte) {
    for (std::size_t i = 0; i < kLanes; ++i) masks[byte][i] = (byte >> i & 1) != 0 ? -1 : 0;
  }
  return masks;
}();

// For each column of a block the sum of the numbers of the rows where its bit is set.
GYM_FOR_EACH_PROCESSOR
void sum_rows(const std::uint8_t* block, const double* numbers, std::size_t rows, double* to) {
  Lanes sums[kRegisters] = {};
  for (std::size_t row = 0; row < rows; ++row, block += kRegisters) {
    const Lanes number = numbers[row] - Lanes{};
    for (std::size_t k = 0; k < kRegisters; ++k) {
      sums[k] += reinterpret_cast<Lanes>(kMasks[block[k]] & reinterpret_cast<Bits>(number));
    }
  }
  std::memcpy(to, sums, sizeof sums);
}

std::vector<std::uint8_t> blocks_of(std::size_t rows, std::size_t columns) {
  return std::vector<std::uint8_t>((columns + kBlock - 1) / kBlock * rows * kRegisters);
}

// Sets the bit of a column, in a block with so many rows.
void set(std::vector<std::uint8_t>& blocks, std::size_t rows, std::size_t row, std::size_t column) {
  const std::size_t first = (column / kBlock * rows + row) * kRegisters;
  blocks[first + column % kBlock / kLanes] |= 1U << column % kLanes;
}

// Calls `use(column, sum)` for the sum of each column.
template <typename Use>
void for_each_sum(const std::vector<std::uint8_t>& blocks, const double* numbers, std::size_t rows,
                  std::size_t columns, const Use& use) {
  double sums[kBlock];
  for (std::size_t first = 0; first < columns; first += kBlock) {
    sum_rows(&blocks[first / kLanes * rows], numbers, rows, sums);
    for (std::size_t i = 0; i < std::min(kBlock, columns - first); ++i) use(first + i, sums[i]);
  }
}

}  // namespace

Features::Features(const std::uint8_t* table, std::size_t choices, std::size_t width)
    : choices_(choices),
      width_(width),
      by_choice_(blocks_of(width, choices)),
      by_feature_(blocks_of(choices, width)) {
  for (std::size_t choice = 0; choice < choices; ++choice) {
    for (std::size_t feature = 0; feature < width; ++feature) {
      if (*table++ == 0) continue;
      set(by_choice_, width, feature, choice);
      set(by_feature_, choices, choice, feature);
    }
  }
}

void Features::add_of_features(const double* numbers, double* choices) const {
  for_each_sum(by_choice_, numbers, width_, choices_,
               [=](std::size_t choice, double sum) { choices[choice] += sum; });
}

void Features::sum_of_choices(const double* numbers, double* features) const {
  for_each_sum(by_feature_, numbers, choices_, width_,
               [=](std::size_t feature, double sum) { features[feature] = sum; });
}

}  // namespace gym::agents
