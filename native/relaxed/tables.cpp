#include "tables.hpp"

#include <algorithm>

#include "../core/processors.hpp"

namespace gym::relaxed {

namespace {

constexpr std::int64_t kWide = 8;  // rows that are worth a loop of their own

}  // namespace

GYM_FOR_EACH_PROCESSOR
void add(Table& to, const Table& more) {
  double* own = to.data();
  const double* others = more.data();
  const std::size_t count = to.size();
#pragma GCC ivdep
  for (std::size_t k = 0; k < count; ++k) own[k] += others[k];
}

GYM_FOR_EACH_PROCESSOR
void lower(double* to, const double* others, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t k = 0; k < count; ++k) to[k] = to[k] < others[k] ? to[k] : others[k];
}

GYM_FOR_EACH_PROCESSOR
void lower_by_rows(Table& table, std::int64_t width, std::int64_t count) {
  double* const end = table.data() + table.size();
  for (double* block = table.data(); block != end; block += width * count) {
    if (width < kWide) {
      for (std::int64_t k = width; k < width * count; ++k) {
        block[k] = block[k] < block[k - width] ? block[k] : block[k - width];
      }
      continue;
    }
    for (std::int64_t row = 1; row < count; ++row) {
      double* own = block + row * width;
      const double* before = own - width;
#pragma GCC ivdep
      for (std::int64_t k = 0; k < width; ++k) own[k] = own[k] < before[k] ? own[k] : before[k];
    }
  }
}

}  // namespace gym::relaxed
