// Integer arithmetic with the machine's wrap-around made explicit: no input is undefined behaviour.
#pragma once

#include <cstdint>
#include <limits>

namespace gym {

constexpr std::int32_t wrap32(std::int64_t value) { return static_cast<std::int32_t>(value); }

constexpr std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

constexpr std::int64_t wrap_sub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

constexpr std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Whether the hardware traps on a / b (division by zero, or a quotient that does not fit).
template <typename Int>
constexpr bool division_traps(Int a, Int b) {
  return b == 0 || (b == -1 && a == std::numeric_limits<Int>::min());
}

// For b other than 0.
constexpr std::int64_t wrap_div(std::int64_t a, std::int64_t b) {
  return b == -1 ? wrap_sub(0, a) : a / b;
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0); }

}  // namespace gym
