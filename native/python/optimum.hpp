// The search for the optimum of a map space.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../batch.hpp"
#include "../optimum/search.hpp"
#include "points.hpp"
#include "pybind.hpp"
#include "space.hpp"

namespace gym::python {

// It asks for the costs of mappings and is told them.
class OptimumSearch {
 public:
  using Range = std::pair<std::int32_t, std::int32_t>;

  OptimumSearch(const NamedLayer& layer, const Hardware& hardware, const NamedSpace& space,
                const Columns& columns)
      : search_(optimum::Problem(layer.layer, hardware, space.space), objective_of(columns)) {}

  py::array ask(std::int64_t nodes, int threads) {
    std::vector<std::int32_t> points;
    {
      py::gil_scoped_release release;
      points = search_.ask(nodes, threads);
    }
    const auto width = static_cast<py::ssize_t>(search_.problem().space.parameters.size());
    PointArray array =
        new_array<std::int32_t>(Shape<2>{static_cast<py::ssize_t>(points.size()) / width, width});
    std::copy(points.begin(), points.end(), array.mutable_data());
    return array;
  }

  // A row of numbers a box that is left.
  py::array left() const {
    const std::vector<optimum::Box> boxes = search_.left();
    const std::size_t width = sizeof(optimum::Box) / sizeof(std::int32_t);
    PointArray rows =
        new_array<std::int32_t>(Shape<2>{std::ssize(boxes), static_cast<py::ssize_t>(width)});
    std::memcpy(rows.mutable_data(), boxes.data(), boxes.size() * sizeof(optimum::Box));
    return rows;
  }

  void restart(const PointArray& rows) {
    std::vector<optimum::Box> boxes(static_cast<std::size_t>(rows.shape(0)));
    if (rows.nbytes() != std::ssize(boxes) * static_cast<py::ssize_t>(sizeof(optimum::Box))) {
      throw std::invalid_argument("no rows of boxes");
    }
    std::memcpy(boxes.data(), rows.data(), static_cast<std::size_t>(rows.nbytes()));
    for (const optimum::Box& box : boxes) {
      if (!optimum::belongs(search_.problem(), box))
        throw std::invalid_argument("a box of another problem");
    }
    search_.restart(boxes);
  }

  // The least cost of a box of mappings: choices of the parallel dimensions, and ranges of choices
  // of the cluster size and of the tiles, by dimension of the space.
  double bound_of(std::array<int, 2> parallel, Range cluster, const std::vector<Range>& outer,
                  const std::vector<Range>& inner) const {
    const optimum::Problem& problem = search_.problem();
    optimum::Box box{};
    box.innermost = {optimum::kAny, optimum::kAny};
    for (std::size_t level = 0; level < parallel.size(); ++level) {
      const std::int32_t dim = problem.space.levels[level].parallel.values.at(parallel[level]);
      box.parallel[level] = problem.index_of_dim(static_cast<std::size_t>(dim));
    }
    box.cluster = {cluster.first, cluster.second};
    for (std::size_t i = 0; i < problem.loops.size(); ++i) {
      const Range& tiles = outer.at(problem.loops[i].dim);
      const Range& below = inner.at(problem.loops[i].dim);
      box.tiles[i] = {{tiles.first, tiles.second}, {below.first, below.second}};
    }
    return search_.bound_of(box);
  }

  optimum::Search search_;

 private:
  static optimum::Objective objective_of(const Columns& columns) {
    const auto has = [&](std::string_view name) {
      return std::any_of(columns.begin(), columns.end(),
                         [name](std::size_t column) { return kMetricNames.at(column) == name; });
    };
    return {has("latency_cycles"), has("energy_nj"), has("area_um2")};
  }
};

inline void bind_optimum(py::module_& module) {
  using Search = OptimumSearch;
  py::class_<Search>(module, "OptimumSearch")
      .def(py::init<const NamedLayer&, const Hardware&, const NamedSpace&, const Columns&>(),
           py::arg("layer"), py::arg("hardware"), py::arg("space"), py::arg("columns"))
      .def("ask", &Search::ask, py::arg("nodes"), py::arg("threads") = 1)
      .def(
          "tell", [](Search& self, double cost) { self.search_.tell(cost); }, py::arg("cost"))
      .def("left", &Search::left)
      .def("restart", &Search::restart, py::arg("boxes"))
      .def("bound_of", &Search::bound_of, py::arg("parallel"), py::arg("cluster"), py::arg("outer"),
           py::arg("inner"))
      .def_property_readonly("finished", [](const Search& self) { return self.search_.finished(); })
      .def_property_readonly("bound", [](const Search& self) { return self.search_.bound(); })
      .def_property_readonly("nodes", [](const Search& self) { return self.search_.nodes(); });
}

}  // namespace gym::python
