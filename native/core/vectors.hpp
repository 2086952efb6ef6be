// Integer vectors of choices: what all spaces of mappings have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace gym {

// A number a vector may choose: values[point[column]], the constant values[0] where column is -1.
// No values stand for 1, 2, 3, ...
struct Choice {
  int column = -1;
  std::vector<std::int32_t> values;

  std::int32_t pick(const std::int32_t* point) const {
    if (column < 0) return values[0];
    return values.empty() ? point[column] + 1 : values[point[column]];
  }
  std::int32_t least() const {
    return values.empty() ? 1 : *std::min_element(values.begin(), values.end());
  }
};

struct VectorSpace {
  struct Parameter {
    std::string name;
    std::int32_t choices;
  };

  std::vector<Parameter> parameters;
};

// Some points of a space, one after the other.
template <typename Space>
struct PointsOf {
  const Space& space;
  const std::int32_t* first;
  std::int64_t count;

  std::int64_t width() const { return std::ssize(space.parameters); }
  const std::int32_t* operator[](std::int64_t i) const { return first + i * width(); }
  PointsOf part(std::int64_t start, std::int64_t size) const {
    return {space, (*this)[start], size};
  }
  // Index of the first entry outside its range, or -1.
  std::int64_t first_out_of_range() const {
    const std::int32_t* entry = first;
    for (std::int64_t i = 0; i < count; ++i) {
      bool inside = true;
      for (const VectorSpace::Parameter& parameter : space.parameters) {
        inside &= *entry >= 0 && *entry < parameter.choices;
        ++entry;
      }
      if (inside) continue;
      std::int64_t column = 0;
      for (entry = (*this)[i]; *entry >= 0 && *entry < space.parameters[column].choices; ++entry) {
        ++column;
      }
      return i * width() + column;
    }
    return -1;
  }
};

}  // namespace gym
