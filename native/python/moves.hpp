// Moves as Python describes them: changes of parameters by the names of their rules.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "../improve/moves.hpp"
#include "arrays.hpp"
#include "problem.hpp"

namespace gym::python {

inline constexpr std::array<std::string_view, improve::kRules> kRuleNames = {
    "stay",  "swap", "innermost", "set",   "minus", "plus", "half",
    "twice", "one",  "all",       "fewer", "more",  "even"};
inline constexpr std::array<std::string_view, 3> kParameterKinds = {"order", "parallel", "size"};

using Indices = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
using Flags = py::array_t<bool, py::array::c_style | py::array::forcecast>;

template <typename Array>
void require_shape(const Array& array, std::initializer_list<py::ssize_t> shape) {
  const bool fits =
      std::equal(shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim());
  if (!fits) throw std::invalid_argument("an array has another shape: " + described(array));
}

inline std::span<const std::int64_t> span_of(const Indices& indices, std::int64_t end) {
  const std::span<const std::int64_t> all(indices.data(), static_cast<std::size_t>(indices.size()));
  for (const std::int64_t index : all) {
    if (index < 0 || index >= end) throw std::out_of_range("an index is out of range");
  }
  return all;
}

// Moves of a space, that are made and shown without any model.
class NamedMoves {
 public:
  // Kind, choices, loops, values, column of the whole, what is shown of each size.
  using ParameterSpec = std::tuple<std::string, std::int32_t, std::int32_t,
                                   std::vector<std::int32_t>, std::int32_t, std::vector<float>>;
  // Column, name of a rule and argument, once or twice.
  using ChangeSpec = std::tuple<std::int32_t, std::string, std::int32_t>;

  NamedMoves(const std::vector<ParameterSpec>& parameters,
             const std::vector<std::vector<ChangeSpec>>& moves)
      : moves(parameters_of(parameters), moves_of(moves)) {}

  // Of int32[N, D] present points those after moves int64[N, M] of M different columns, where
  // bool[N, M] says that they are made; not clipped.
  PointArray after(const PointArray& present, const Indices& indices, const Flags& made) const {
    const py::ssize_t count = present.shape(0), each = indices.ndim() == 2 ? indices.shape(1) : 0;
    require_shape(present, {count, width()});
    require_shape(indices, {count, each});
    require_shape(made, {count, each});
    const auto all = span_of(indices, moves.count());
    auto points = new_array<std::int32_t>(Shape<2>{count, width()});
    std::copy_n(present.data(), present.size(), points.mutable_data());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto row = static_cast<py::ssize_t>(i) / each * width();
      if (made.data()[i]) moves.make(all[i], present.data() + row, points.mutable_data() + row);
    }
    return points;
  }

  // What is shown of int32[N, D] points in range, float32[N, F].
  py::array_t<float> show(const PointArray& points) const {
    const py::ssize_t count = points.shape(0), shown = std::ssize(moves.shown());
    require_shape(points, {count, width()});
    auto found = new_array<float>(Shape<2>{count, shown});
    for (py::ssize_t i = 0; i < count; ++i) {
      moves.show(points.data() + i * width(), found.mutable_data() + i * shown);
    }
    return found;
  }

  improve::Moves moves;

 private:
  py::ssize_t width() const { return static_cast<py::ssize_t>(moves.width()); }

  static std::vector<improve::Moves::Parameter> parameters_of(
      const std::vector<ParameterSpec>& specs) {
    std::vector<improve::Moves::Parameter> found;
    for (const auto& [kind, choices, loops, values, whole, shown] : specs) {
      const auto index = index_of(kParameterKinds, kind, "kind of parameter");
      found.push_back({static_cast<improve::Moves::Parameter::Kind>(index), choices, loops, values,
                       whole, shown});
    }
    return found;
  }

  static std::vector<improve::Move> moves_of(const std::vector<std::vector<ChangeSpec>>& specs) {
    std::vector<improve::Move> found;
    for (const std::vector<ChangeSpec>& changes : specs) {
      improve::Move& move = found.emplace_back();
      if (changes.size() > move.size()) throw std::invalid_argument("too many changes of a move");
      for (std::size_t i = 0; i < changes.size(); ++i) {
        const auto& [column, rule, argument] = changes[i];
        const auto index = index_of(kRuleNames, rule, "rule of a move");
        move[i] = {column, static_cast<improve::Rule>(index), argument};
      }
    }
    return found;
  }
};

inline void bind_moves(py::module_& module) {
  py::class_<NamedMoves>(module, "Moves")
      .def(py::init<const std::vector<NamedMoves::ParameterSpec>&,
                    const std::vector<std::vector<NamedMoves::ChangeSpec>>&>(),
           py::arg("parameters"), py::arg("moves"))
      .def("after", &NamedMoves::after, py::arg("present"), py::arg("moves"), py::arg("made"))
      .def("show", &NamedMoves::show, py::arg("points"))
      .def_property_readonly("shown", [](const NamedMoves& self) { return self.moves.shown(); });
}

}  // namespace gym::python
