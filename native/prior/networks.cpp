#include "networks.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "../core/processors.hpp"

namespace gym::prior {

namespace {

// Enough sums side by side that none waits for the one before it.
constexpr std::size_t kBlock = 64;

// Adds the product of a vector and a matrix, a row of `outs` numbers for each entry of the vector.
GYM_FOR_EACH_PROCESSOR
void add_product(const float* vector, std::size_t ins, const float* matrix, std::size_t outs,
                 float* to) {
  for (std::size_t first = 0; first < outs; first += kBlock) {
    float sum[kBlock];
    for (std::size_t j = 0; j < kBlock; ++j) sum[j] = to[first + j];
    for (std::size_t i = 0; i < ins; ++i) {
      const float factor = vector[i];
      if (factor == 0) continue;
      const float* row = matrix + i * outs + first;
      for (std::size_t j = 0; j < kBlock; ++j) sum[j] += factor * row[j];
    }
    for (std::size_t j = 0; j < kBlock; ++j) to[first + j] = sum[j];
  }
}

// The scalar product of the positive part of `a` and b.
GYM_FOR_EACH_PROCESSOR
float positive_product(const float* a, const float* b, std::size_t count) {
  float sum[kBlock] = {};
  for (std::size_t first = 0; first < count; first += kBlock) {
    for (std::size_t j = 0; j < kBlock; ++j) {
      const float positive = a[first + j] > 0 ? a[first + j] : 0;
      sum[j] += positive * b[first + j];
    }
  }
  float total = 0;
  for (const float each : sum) total += each;
  return total;
}

}  // namespace

Networks::Networks(Widths widths, Weights weights) : widths_(widths), weights_(std::move(weights)) {
  const std::size_t hidden = widths_.hidden;
  const std::size_t mixed = widths_.mixed;
  if (hidden == 0 || mixed == 0 || hidden % kBlock != 0 || mixed % kBlock != 0) {
    throw std::invalid_argument("layers are not multiples of 64 wide");
  }
}

std::vector<float> Networks::read(std::span<const float> context) const {
  std::vector<float> sums = weights_.bias;
  for (std::size_t decision = 0; decision < kDecisions; ++decision) {
    add_product(context.data(), context.size(),
                &weights_.context[decision * widths_.context * widths_.hidden], widths_.hidden,
                &sums[decision * widths_.hidden]);
  }
  return sums;
}

void Networks::score(int decision, std::span<const float> context_read, const float* state,
                     const Options& options, float* scores) const {
  const auto [context, hidden, mixed] = widths_;
  const auto net = static_cast<std::size_t>(decision);
  std::vector<float> first(&context_read[net * hidden], &context_read[net * hidden] + hidden);
  add_product(state, kStateSize, &weights_.state[net * kStateSize * hidden], hidden, first.data());
  for (float& each : first) each = std::max(each, 0.0F);
  std::vector<float> second(&weights_.mixed_bias[net * mixed],
                            &weights_.mixed_bias[net * mixed] + mixed);
  add_product(first.data(), hidden, &weights_.hidden[net * hidden * mixed], mixed, second.data());
  std::vector<float> each(mixed);
  for (int i = 0; i < options.count; ++i) {
    each = second;
    add_product(options.features[static_cast<std::size_t>(i)].data(), kFeatures,
                &weights_.option[net * kFeatures * mixed], mixed, each.data());
    scores[i] = positive_product(each.data(), &weights_.score[net * mixed], mixed);
  }
}

}  // namespace gym::prior
