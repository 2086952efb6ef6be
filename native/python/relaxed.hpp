// The relaxed program over the memories of an accelerator.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../relaxed/program.hpp"
#include "arrays.hpp"
#include "hierarchy.hpp"

namespace gym::python {

class RelaxedProgram {
 public:
  using Doubles = py::array_t<double, py::array::c_style>;
  using Integers = py::array_t<std::int64_t, py::array::c_style>;

  // What one call looks at and weighs: rows by element, of accesses by boundary.
  struct Task {
    relaxed::Box box;
    relaxed::Weights weights;
    relaxed::Limits limits;
  };

  RelaxedProgram(const hierarchy::ScorerSpec& spec, const std::array<std::int64_t, kTensors>& words,
                 std::vector<LoopSet> loops, std::vector<relaxed::Counts> tiles, bool dividing)
      : dividing_(dividing) {
    problem_.shape = spec.shape;
    problem_.accelerator = spec.accelerator;
    hierarchy::Model model(spec.shape, spec.accelerator, spec.options);
    for (const hierarchy::Prices& each : model.prices()) {
      problem_.boundaries.push_back(each.between);
    }
    problem_.words = words;
    problem_.loops = std::move(loops);
    problem_.tiles = std::move(tiles);
    everything_[0].fill(1);
    everything_[1] = problem_.shape.extent;
  }

  // The least cost of each kind of mappings or, if wanted, the loops of one that costs about the
  // least of these.
  py::tuple least(double ratio, bool traced, const Integers& least, const Integers& most,
                  const Doubles& sharing, const Doubles& accesses, const Doubles& steps,
                  const Doubles& fills, const Doubles& drains, double refill,
                  const std::pair<double, double>& limits, const Doubles& exposed,
                  const std::array<relaxed::Counts, 2>& outer) {
    const Task task =
        read(least, most, sharing, accesses, steps, fills, drains, refill, limits, exposed, outer);
    std::vector<hierarchy::MappedLoop> loops;
    std::vector<double> found;
    {
      const py::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      relaxed::Program& used = program(ratio, task.box);
      if (traced) {
        loops = used.trace(task.box, task.weights, task.limits);
      } else {
        found = used.least(task.box, task.weights, task.limits);
      }
    }
    std::vector<Entries> entries;
    for (const auto& [element, dim, tile] : loops) entries.push_back({element, dim, tile});
    return py::make_tuple(found, entries);
  }

 private:
  // Of traces, one with sizes that suit the units of the box.
  relaxed::Program& program(double ratio, const relaxed::Box& box) {
    std::vector<relaxed::Counts> units;
    for (int e = 0; ratio < 1 && e < problem_.elements(); ++e) {
      if (problem_.is_memory(e)) continue;
      if (box.units[e].least != box.units[e].most) {
        units.clear();
        break;
      }
      units.push_back(box.units[e].least);
    }
    const std::array outer{box.least, box.most};
    const bool whole = outer == everything_;
    auto& held = whole ? programs_ : narrow_;
    const Key key{ratio, units, outer};
    // Of narrow boxes there are many, each looked at several times in turn.
    if (!whole && !held.contains(key)) held.clear();
    return held.try_emplace(key, problem_, ratio, dividing_, units, outer).first->second;
  }

  Task read(const Integers& least, const Integers& most, const Doubles& sharing,
            const Doubles& accesses, const Doubles& steps, const Doubles& fills,
            const Doubles& drains, double refill, const std::pair<double, double>& limits,
            const Doubles& exposed, const std::array<relaxed::Counts, 2>& outer) const {
    Task task;
    const auto elements = static_cast<std::size_t>(problem_.elements());
    task.box.units.resize(elements);
    task.weights.accesses = rows<6>(accesses, problem_.boundaries.size(), "accesses");
    task.weights.refill = refill;
    task.limits.exposed = rows<kTensors + 1>(exposed, elements, "exposed");
    std::tie(task.limits.exposed_cycles, task.limits.cycles) = limits;
    task.box.least = outer[0];
    task.box.most = outer[1];
    const auto least_rows = rows<kLoops>(least, elements, "least");
    const auto most_rows = rows<kLoops>(most, elements, "most");
    const auto sharing_rows = rows<kTensors>(sharing, elements, "sharing");
    const auto step_rows = rows<1>(steps, elements, "steps");
    const auto fill_rows = rows<1>(fills, elements, "fills");
    const auto drain_rows = rows<1>(drains, elements, "drains");
    for (std::size_t e = 0; e < elements; ++e) {
      task.box.units[e] = {least_rows[e], most_rows[e], sharing_rows[e]};
      task.weights.steps.push_back(step_rows[e][0]);
      task.weights.fills.push_back(fill_rows[e][0]);
      task.weights.drains.push_back(drain_rows[e][0]);
    }
    return task;
  }

  template <std::size_t N, typename Value>
  static std::vector<std::array<Value, N>> rows(const py::array_t<Value, py::array::c_style>& given,
                                                std::size_t count, const char* name) {
    if (static_cast<std::size_t>(given.size()) != count * N) {
      throw std::invalid_argument(std::string(name) + " has " + std::to_string(given.size()) +
                                  " numbers; allowed: " + std::to_string(count * N));
    }
    std::vector<std::array<Value, N>> found(count);
    const Value* from = given.data();
    for (auto& row : found) {
      for (Value& each : row) each = *from++;
    }
    return found;
  }

  std::mutex mutex_;
  relaxed::Problem problem_;
  bool dividing_;
  std::array<relaxed::Counts, 2> everything_;  // all tiles of the first memory
  // The ratio of merged classes, units, and the least and the most of the first memory's tiles.
  using Key = std::tuple<double, std::vector<relaxed::Counts>, std::array<relaxed::Counts, 2>>;
  std::map<Key, relaxed::Program> programs_, narrow_;
};

inline void bind_relaxed(py::module_& module) {
  py::class_<RelaxedProgram>(module, "RelaxedProgram")
      .def(py::init([](const std::array<std::int64_t, kLoops>& extents,
                       const std::array<std::int64_t, 2>& strides,
                       const std::array<std::int64_t, 2>& dilations,
                       const std::vector<py::dict>& elements, const py::dict& mac,
                       const py::dict& options, const std::array<std::int64_t, kTensors>& words,
                       std::vector<LoopSet> loops, std::vector<relaxed::Counts> tiles,
                       bool dividing) {
             return std::make_unique<RelaxedProgram>(
                 Hierarchy::spec(extents, strides, dilations, elements, mac, options), words,
                 std::move(loops), std::move(tiles), dividing);
           }),
           py::arg("extents"), py::arg("strides"), py::arg("dilations"), py::arg("elements"),
           py::arg("mac"), py::arg("options"), py::arg("words"), py::arg("loops"), py::arg("tiles"),
           py::arg("dividing"))
      .def_static(
          "states",
          [](const relaxed::Counts& extents, double ratio,
             const std::vector<relaxed::Counts>& units) {
            relaxed::Counts ones;
            ones.fill(1);
            return relaxed::Grid(extents, ratio, units, {ones, extents}).states();
          },
          py::arg("extents"), py::arg("ratio"), py::arg("units"))
      .def("least", &RelaxedProgram::least, py::arg("ratio"), py::arg("traced"), py::arg("least"),
           py::arg("most"), py::arg("sharing"), py::arg("accesses"), py::arg("steps"),
           py::arg("fills"), py::arg("drains"), py::arg("refill"), py::arg("limits"),
           py::arg("exposed"), py::arg("outer"));
}

}  // namespace gym::python
