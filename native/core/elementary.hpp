// Logarithms, powers and tangents of plain arithmetic: the same bits on every processor.
#pragma once

#include <bit>
#include <cstdint>

namespace gym {

// The binary logarithm of a normal number above 0, within 1e-9.
inline float log2_of(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  const auto exponent = static_cast<int>(bits >> 52) - 1023;
  const auto mantissa = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  // ln m = 2 atanh((m-1) / (m+1)), where m is a mantissa or its half: 1/sqrt 2 <= m < sqrt 2.
  const bool high = mantissa > 1.4142135623730951;
  const double m = high ? mantissa / 2 : mantissa;
  const double z = (m - 1) / (m + 1);
  const double zz = z * z;
  const double series =
      1 + zz * (1.0 / 3 + zz * (1.0 / 5 + zz * (1.0 / 7 + zz * (1.0 / 9 + zz * (1.0 / 11)))));
  return static_cast<float>(exponent + (high ? 1 : 0) + 2 * 1.4426950408889634 * z * series);
}

// e to the power of a number that is 0 or less, within 1e-7 of its value; 0 below -87.
inline float exp_of(float power) {
  if (power < -87.0F) return 0.0F;
  const float octaves = power * 1.44269504F;
  const int whole = static_cast<int>(octaves) - 1;
  // 2^f = e^x with 0 < x <= ln 2.
  const float x = (octaves - static_cast<float>(whole)) * 0.69314718F;
  float series = 1.0F;
  for (int n = 9; n > 0; --n) series = 1.0F + x * series / static_cast<float>(n);
  return series * std::bit_cast<float>(static_cast<std::uint32_t>(whole + 127) << 23);
}

// e to the power of a number from -80 to 0, within 2e-7 of its value. Unlike exp_of it has no
// branch and no division, so that loops over it are vectorised.
inline float fast_exp(float power) {
  // Adding and taking away 1.5 * 2^23 rounds to an integer: e^power = 2^octaves e^x, |x| <= ln 2
  // / 2.
  constexpr float kBig = 0x1.8p23F;
  const float octaves = (power * 1.44269504F + kBig) - kBig;
  const float x = power - octaves * 0.69314718F;
  // Written out, as loops of it are vectorised only then.
  float series = x * (1.0F / 5040) + 1.0F / 720;
  series = series * x + 1.0F / 120;
  series = series * x + 1.0F / 24;
  series = series * x + 1.0F / 6;
  series = series * x + 0.5F;
  series = series * x + 1.0F;
  series = series * x + 1.0F;
  const int exponent = static_cast<int>(octaves) + 127;
  return series * std::bit_cast<float>(static_cast<std::uint32_t>(exponent) << 23);
}

// The hyperbolic tangent, within 2e-7.
inline float tanh_of(float number) {
  const float size = number < 0 ? -number : number;
  // From 10 on it is 1 as a float.
  const float small = fast_exp(-2.0F * (size < 10.0F ? size : 10.0F));
  const float tangent = (1.0F - small) / (1.0F + small);
  return number < 0 ? -tangent : tangent;
}

}  // namespace gym
