// Fused multilayer perceptrons, on behalf of Python.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../perceptrons/perceptrons.hpp"
#include "../perceptrons/team.hpp"
#include "arrays.hpp"

namespace gym::python {

using perceptrons::Perceptrons;
using perceptrons::Team;

template <typename T>
using Array = py::array_t<T, py::array::c_style>;

// Sums of more inputs could overflow.
constexpr std::size_t kMostInputs = 1 << 15;

inline perceptrons::Activation find_activation(const std::string& name) {
  if (name == "relu") return perceptrons::Activation::relu;
  if (name == "tanh") return perceptrons::Activation::tanh;
  throw std::invalid_argument("activation " + name + "; allowed: relu, tanh");
}

// Reads off the widths of all layers from matrices [N, in, out], one of each layer.
template <typename T>
perceptrons::Shape shape_of(const std::vector<Array<T>>& matrices, const std::string& activation) {
  perceptrons::Shape shape{0, {}, find_activation(activation)};
  for (const Array<T>& matrix : matrices) {
    if (matrix.ndim() != 3 || matrix.size() == 0) {
      throw std::invalid_argument("a matrix is [N, in, out], got " + described(matrix));
    }
    const auto networks = static_cast<std::size_t>(matrix.shape(0));
    const auto ins = static_cast<std::size_t>(matrix.shape(1));
    if (shape.widths.empty()) {
      shape.networks = networks;
      shape.widths.push_back(ins);
    }
    if (networks != shape.networks || ins != shape.widths.back() || ins > kMostInputs) {
      throw std::invalid_argument(
          "a matrix of another number of networks or inputs, or of more "
          "than 32,768 inputs: " +
          described(matrix));
    }
    shape.widths.push_back(static_cast<std::size_t>(matrix.shape(2)));
  }
  if (matrices.empty()) throw std::invalid_argument("there are no layers");
  return shape;
}

// The numbers of each layer's array, which has `outs` of each network or one.
template <typename T>
std::vector<const T*> numbers_of(const std::vector<Array<T>>& arrays,
                                 const perceptrons::Shape& shape, bool of_outputs,
                                 const char* name) {
  std::vector<const T*> numbers;
  for (std::size_t layer = 0; layer < shape.layers(); ++layer) {
    const std::size_t size = shape.networks * (of_outputs ? shape.widths[layer + 1] : 1);
    if (arrays.size() != shape.layers() || arrays[layer].size() != static_cast<py::ssize_t>(size)) {
      throw std::invalid_argument(std::string(name) + " do not fit the matrices");
    }
    numbers.push_back(arrays[layer].data());
  }
  return numbers;
}

template <typename T>
std::vector<const T*> data_of(const std::vector<Array<T>>& arrays) {
  std::vector<const T*> numbers;
  for (const Array<T>& array : arrays) numbers.push_back(array.data());
  return numbers;
}

// Inputs are [B, in], the same for all networks, or [N, B, in]; outputs are [N, B, out].
// `calls` repeats the work, so that it can be timed without Python.
template <typename Networks>
Array<float> run(const Networks& networks, const Array<float>& inputs, std::size_t calls) {
  const perceptrons::Shape& shape = networks.shape();
  const auto count = static_cast<py::ssize_t>(shape.networks);
  const auto ins = static_cast<py::ssize_t>(shape.widths.front());
  const bool shared = inputs.ndim() == 2;
  if ((!shared && (inputs.ndim() != 3 || inputs.shape(0) != count)) ||
      inputs.shape(inputs.ndim() - 1) != ins) {
    throw std::invalid_argument("inputs are [B, " + std::to_string(ins) + "] or [" +
                                std::to_string(count) + ", B, " + std::to_string(ins) + "], got " +
                                described(inputs));
  }
  const py::ssize_t rows = inputs.shape(inputs.ndim() - 2);
  Array<float> outputs =
      new_array<float>(Shape<3>{count, rows, static_cast<py::ssize_t>(shape.widths.back())});
  for (std::size_t call = 0; call < std::max<std::size_t>(calls, 1); ++call) {
    networks.run(inputs.data(), shared, static_cast<std::size_t>(rows), outputs.mutable_data());
  }
  return outputs;
}

inline Perceptrons make_perceptrons(const std::vector<Array<float>>& weights,
                                    const std::vector<Array<float>>& biases,
                                    const std::string& activation) {
  perceptrons::Shape shape = shape_of(weights, activation);
  const std::vector<const float*> of_biases = numbers_of(biases, shape, true, "biases");
  return {std::move(shape), data_of(weights), of_biases};
}

// Refuses an array that has another number of entries.
template <typename T>
const T* sized(const Array<T>& array, std::size_t size, const char* name) {
  if (array.size() != static_cast<py::ssize_t>(size)) {
    throw std::invalid_argument(std::string(name) + " have " + std::to_string(size) +
                                " numbers, got " + described(array));
  }
  return array.data();
}

inline Team make_team(const std::vector<std::size_t>& choices,
                      const std::vector<std::size_t>& owners, const Array<float>& logits,
                      const std::array<Array<float>, 2>& policy,
                      const std::array<Array<float>, 2>& critic, const Array<float>& outputs,
                      const Array<float>& values, const std::map<std::string, double>& rule) {
  if (choices.empty() || choices.size() != owners.size() ||
      std::find(choices.begin(), choices.end(), 0) != choices.end()) {
    throw std::invalid_argument("every head has an owner and one choice or more");
  }
  const std::size_t agents = *std::max_element(owners.begin(), owners.end()) + 1;
  const std::size_t count = std::accumulate(choices.begin(), choices.end(), std::size_t{0});
  const std::size_t hidden = Team::kHidden;
  const std::size_t first = agents * Team::kSeen * hidden;
  const std::size_t second = agents * hidden * hidden;
  const Team::Rule of_team{rule.at("rate"),        rule.at("clip"),
                           rule.at("entropy"),     rule.at("imitation"),
                           rule.at("most_change"), static_cast<int>(rule.at("epochs"))};
  return {choices,
          owners,
          agents,
          sized(logits, count, "logits"),
          {{sized(policy[0], first, "weights"), sized(policy[1], second, "weights")},
           {sized(critic[0], first, "weights"), sized(critic[1], second, "weights")},
           sized(outputs, count * hidden, "outputs"),
           sized(values, agents * hidden, "values")},
          of_team};
}

inline Array<std::int64_t> draw_actions(Team& team, const Array<float>& seen,
                                        const Array<double>& uniform) {
  const auto heads = static_cast<py::ssize_t>(team.heads());
  if (uniform.ndim() != 2 || uniform.shape(0) == 0 || uniform.shape(1) != heads) {
    throw std::invalid_argument("uniform numbers are [N, " + std::to_string(heads) + "], got " +
                                described(uniform));
  }
  const auto rows = static_cast<std::size_t>(uniform.shape(0));
  Array<std::int64_t> actions = new_array<std::int64_t>(Shape<2>{uniform.shape(0), heads});
  team.draw(sized(seen, rows * Team::kSeen, "observations"), uniform.data(), rows,
            actions.mutable_data());
  return actions;
}

inline void learn_from(Team& team, const Array<std::int64_t>& actions, const Array<double>& rewards,
                       const std::optional<Array<float>>& imitated) {
  const std::int64_t* chosen = sized(actions, team.rows() * team.heads(), "actions");
  for (std::size_t i = 0; i < team.rows() * team.heads(); ++i) {
    const auto most = static_cast<std::int64_t>(team.choices(i % team.heads()));
    if (chosen[i] < 0 || chosen[i] >= most) {
      throw std::invalid_argument("action " + std::to_string(chosen[i]) + " of " +
                                  std::to_string(most));
    }
  }
  team.learn(chosen, sized(rewards, team.rows(), "rewards"),
             imitated ? sized(*imitated, team.logits(), "shares") : nullptr);
}

inline Array<float> last_chances(const Team& team) {
  Array<float> found = new_array<float>(Shape<1>{static_cast<py::ssize_t>(team.logits())});
  if (team.rows() == 0) throw std::invalid_argument("nothing was drawn");
  team.chances(found.mutable_data());
  return found;
}

inline void bind_perceptrons(py::module_& module) {
  py::class_<Perceptrons>(module, "Perceptrons")
      .def(py::init(&make_perceptrons), py::arg("weights"), py::arg("biases"),
           py::arg("activation"))
      .def("run", &run<Perceptrons>, py::arg("inputs"), py::arg("calls") = 1);
  py::class_<Team>(module, "Team")
      .def(py::init(&make_team), py::arg("choices"), py::arg("owners"), py::arg("logits"),
           py::arg("policy"), py::arg("critic"), py::arg("outputs"), py::arg("values"),
           py::arg("rule"))
      .def("draw", &draw_actions, py::arg("seen"), py::arg("uniform"))
      .def("learn", &learn_from, py::arg("actions"), py::arg("rewards"), py::arg("imitated"))
      .def("chances", &last_chances);
}

}  // namespace gym::python
