// Passes over tables of costs, in which most of the time of the relaxed program goes.
#pragma once

#include <cstdint>
#include <vector>

namespace gym::relaxed {

using Table = std::vector<double>;  // by state

void add(Table& to, const Table& more);

// Of so many entries each takes the other one, if that is lower.
void lower(double* to, const double* others, std::int64_t count);

// Blocks of so many rows of so many entries: each row takes what those before it in its block have
// that is lower.
void lower_by_rows(Table& table, std::int64_t width, std::int64_t count);

}  // namespace gym::relaxed
