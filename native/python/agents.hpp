// Agents without networks, on behalf of Python.
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../agents/elites.hpp"
#include "../agents/heads.hpp"
#include "../agents/stateless.hpp"
#include "arrays.hpp"
#include "perceptrons.hpp"

namespace gym::python {

using ActionArray = py::array_t<std::int64_t, py::array::c_style>;
using Doubles = py::array_t<double, py::array::c_style>;

// Numbers of the core as an array of numpy, while they stay where they are.
template <std::size_t N>
Doubles view(const Shape<N>& shape, const double* numbers) {
  return Doubles(shape, numbers, py::none());
}

// A view of the same numbers as before is used again.
inline agents::Function numpy_function(const char* name) {
  return [function = py::module_::import("numpy").attr(name), array = Doubles()](
             double* numbers, std::size_t count) mutable {
    const auto size = static_cast<py::ssize_t>(count);
    if (array.data() != numbers || array.size() != size) array = view(Shape<1>{size}, numbers);
    function(array, array);
  };
}

// Throws std::invalid_argument unless the array has rows of choices of all heads.
inline agents::Actions actions_of(const std::vector<std::int64_t>& counts,
                                  const ActionArray& actions) {
  const auto heads = std::ssize(counts);
  bool inside = actions.ndim() == 2 && actions.shape(1) == heads;
  const std::int64_t* action = actions.data();
  for (py::ssize_t row = 0; inside && row < actions.shape(0); ++row) {
    for (const std::int64_t count : counts) {
      inside &= 0 <= *action && *action < count;
      ++action;
    }
  }
  if (!inside) {
    throw std::invalid_argument("actions are choices of " + std::to_string(heads) + " heads, got " +
                                described(actions));
  }
  return {actions.data(), static_cast<std::size_t>(actions.shape(0))};
}

inline ActionArray explore(const agents::Heads& heads, const ActionArray& actions, double chance,
                           double local, const py::capsule& bits) {
  const agents::Actions given = actions_of(heads.counts(), actions);
  auto explored = new_array<std::int64_t>(Shape<2>{actions.shape(0), actions.shape(1)});
  Random random = random_of(bits);
  heads.explore(given, chance, local, random, explored.mutable_data());
  return explored;
}

inline ActionArray redrawn(const ActionArray& actions, std::size_t count, const py::capsule& bits) {
  if (actions.ndim() != 2 || actions.shape(0) == 0) {
    throw std::invalid_argument("actions are rows, one or more, got " + described(actions));
  }
  auto drawn = new_array<std::int64_t>(Shape<2>{static_cast<py::ssize_t>(count), actions.shape(1)});
  Random random = random_of(bits);
  for (std::int64_t* row = drawn.mutable_data(); count > 0; --count, row += actions.shape(1)) {
    std::copy_n(actions.data(random.below(actions.shape(0)), 0), actions.shape(1), row);
  }
  return drawn;
}

inline ActionArray refine(const agents::Heads& heads, const ActionArray& best,
                          const ActionArray& drawn, double pairs, const py::capsule& bits) {
  const agents::Actions of_best = actions_of(heads.counts(), best);
  const agents::Actions of_drawn = actions_of(heads.counts(), drawn);
  if (of_best.rows == 0) throw std::invalid_argument("there is no best sample");
  auto variants = new_array<std::int64_t>(Shape<2>{drawn.shape(0), drawn.shape(1)});
  Random random = random_of(bits);
  heads.refine(of_best, of_drawn, pairs, random, variants.mutable_data());
  return variants;
}

// The best of known samples, which are the best of theirs, and of others: actions and values.
inline py::tuple best_samples(const ActionArray& actions, const Doubles& values,
                              const ActionArray& more, const Doubles& more_values,
                              std::size_t most) {
  const py::ssize_t width = actions.ndim() == 2 ? actions.shape(1) : 0;
  if (more.ndim() != 2 || more.shape(1) != width || more.shape(0) != more_values.size() ||
      actions.shape(0) != values.size()) {
    throw std::invalid_argument("samples are [N, " + std::to_string(width) +
                                "] with N values, got " + described(more));
  }
  std::vector<double> all(values.data(), values.data() + values.size());
  all.insert(all.end(), more_values.data(), more_values.data() + more_values.size());
  const std::vector<std::size_t> found = agents::least(all, most);
  const auto known = static_cast<std::size_t>(values.size());
  const auto count = static_cast<py::ssize_t>(found.size());
  auto best = new_array<std::int64_t>(Shape<2>{count, width});
  auto best_values = new_array<double>(Shape<1>{count});
  std::int64_t* row = best.mutable_data();
  double* value = best_values.mutable_data();
  for (const std::size_t i : found) {
    const std::int64_t* from = i < known ? actions.data() : more.data();
    row = std::copy_n(from + (i < known ? i : i - known) * width, width, row);
    *value++ = all[i];
  }
  return py::make_tuple(best, best_values);
}

inline agents::Heads make_heads(const std::vector<std::int64_t>& counts,
                                const std::vector<bool>& are_sizes, const Doubles& places) {
  std::int64_t choices = 0;
  for (const std::int64_t count : counts) {
    if (count < 1) throw std::invalid_argument("a head has one choice or more");
    choices += count;
  }
  if (are_sizes.size() != counts.size() || places.size() != choices) {
    throw std::invalid_argument("every head has choices, and every choice a place");
  }
  return {
      counts, are_sizes, {places.data(), places.data() + places.size()}, numpy_function("exp2")};
}

// Sums over the heads of each agent, by numpy's product with 1 where an agent owns a head; it is
// left out where each agent has one.
inline auto sum_of_agents(const std::vector<std::size_t>& owners, std::size_t agents) {
  const auto heads = std::ssize(owners);
  const auto columns = static_cast<py::ssize_t>(agents);
  auto owns = new_array<double>(Shape<2>{heads, columns});
  std::fill_n(owns.mutable_data(), owns.size(), 0.0);
  bool alone = agents == owners.size();
  for (py::ssize_t head = 0; head < heads; ++head) {
    owns.mutable_at(head, owners[head]) = 1;
    alone &= owners[head] == static_cast<std::size_t>(head);
  }
  return [=, product = py::module_::import("numpy").attr("matmul")](
             const double* numbers, std::size_t rows, double* sums) {
    const auto count = static_cast<py::ssize_t>(rows);
    if (alone) {
      std::copy_n(numbers, count * heads, sums);
    } else {
      product(view(Shape<2>{count, heads}, numbers), owns, view(Shape<2>{count, columns}, sums));
    }
  };
}

inline agents::Stateless make_stateless(
    const agents::Heads& heads, const std::vector<std::size_t>& owners, const Doubles& bias,
    const std::vector<py::array_t<std::uint8_t, py::array::c_style>>& features,
    const std::map<std::string, double>& rule) {
  const std::vector<std::int64_t>& counts = heads.counts();
  if (owners.empty() || owners.size() != counts.size() || features.size() != counts.size() ||
      bias.size() != std::accumulate(counts.begin(), counts.end(), std::int64_t{0})) {
    throw std::invalid_argument("owners and features are of heads, the bias is of choices");
  }
  std::vector<agents::Features> of_heads;
  for (std::size_t head = 0; head < counts.size(); ++head) {
    const auto& table = features[head];
    if (table.ndim() != 2 || table.shape(0) != counts[head]) {
      throw std::invalid_argument("features are [choices, f], got " + described(table));
    }
    of_heads.emplace_back(table.data(), table.shape(0), table.shape(1));
  }
  const std::size_t agents = *std::max_element(owners.begin(), owners.end()) + 1;
  return {counts,
          owners,
          agents,
          {bias.data(), bias.data() + bias.size()},
          std::move(of_heads),
          {rule.at("rate"), rule.at("clip"), rule.at("entropy"), rule.at("imitation"),
           rule.at("most_change"), static_cast<int>(rule.at("epochs"))},
          {numpy_function("exp"), numpy_function("log"), sum_of_agents(owners, agents)}};
}

inline ActionArray draw_stateless(const agents::Stateless& team, const Doubles& uniform) {
  const auto heads = std::ssize(team.counts());
  if (uniform.ndim() != 2 || uniform.shape(1) != heads) {
    throw std::invalid_argument("uniform numbers are [N, " + std::to_string(heads) + "], got " +
                                described(uniform));
  }
  auto actions = new_array<std::int64_t>(Shape<2>{uniform.shape(0), heads});
  team.draw(uniform.data(), static_cast<std::size_t>(uniform.shape(0)), actions.mutable_data());
  return actions;
}

inline void learn_stateless(agents::Stateless& team, const ActionArray& actions,
                            const Doubles& rewards, const ActionArray& best) {
  const agents::Actions drawn = actions_of(team.counts(), actions);
  const double* of_rows = sized(rewards, drawn.rows, "rewards");
  team.learn(drawn, of_rows, actions_of(team.counts(), best));
}

inline Doubles chances_of(const agents::Stateless& team) {
  auto chances = new_array<double>(Shape<1>{std::ssize(team.chances())});
  std::copy(team.chances().begin(), team.chances().end(), chances.mutable_data());
  return chances;
}

inline void bind_agents(py::module_& module) {
  py::class_<agents::Heads>(module, "Heads")
      .def(py::init(&make_heads), py::arg("counts"), py::arg("are_sizes"), py::arg("places"))
      .def("scaled", py::vectorize(&agents::Heads::scaled), py::arg("head"), py::arg("action"),
           py::arg("octaves"))
      .def("explore", &explore, py::arg("actions"), py::arg("chance"), py::arg("local"),
           py::arg("bits"))
      .def("refine", &refine, py::arg("best"), py::arg("drawn"), py::arg("pairs"), py::arg("bits"));
  py::class_<agents::Stateless>(module, "StatelessAgents")
      .def(py::init(&make_stateless), py::arg("heads"), py::arg("owners"), py::arg("bias"),
           py::arg("features"), py::arg("rule"))
      .def("draw", &draw_stateless, py::arg("uniform"))
      .def("learn", &learn_stateless, py::arg("actions"), py::arg("rewards"), py::arg("best"))
      .def("chances", &chances_of);
  module.def("redrawn", &redrawn, py::arg("actions"), py::arg("count"), py::arg("bits"));
  module.def("best_samples", &best_samples, py::arg("actions"), py::arg("values"), py::arg("more"),
             py::arg("more_values"), py::arg("most"));
}

}  // namespace gym::python
