// The search for the optimum of a map space.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../evaluate/batch.hpp"
#include "../optimum/proof.hpp"
#include "../optimum/search.hpp"
#include "arrays.hpp"
#include "problem.hpp"

namespace gym::python {

// It asks for the costs of mappings and is told them.
class OptimumSearch {
 public:
  using Range = std::pair<std::int32_t, std::int32_t>;

  OptimumSearch(const NamedLayer& layer, const Hardware& hardware, const NamedSpace& space,
                const Columns& columns, std::size_t most_open)
      : objective_(objective_of(columns)),
        search_(optimum::Problem(layer.layer, hardware, space.space), objective_, most_open) {}

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

  // Rows of numbers, one a box.
  py::array left() const { return rows_of(search_.left()); }

  // All mappings, and the dimensions that each box deals out at either level, -1 for none.
  py::tuple all() const {
    const optimum::Problem& problem = search_.problem();
    const std::vector<optimum::Box> boxes = optimum::all_mappings(problem);
    py::array_t<std::int8_t> parallel = new_array<std::int8_t>(Shape<2>{std::ssize(boxes), 2});
    std::int8_t* dim = parallel.mutable_data();
    for (const optimum::Box& box : boxes) {
      for (const int loop : box.parallel) {
        *dim++ = static_cast<std::int8_t>(loop == optimum::kNone ? -1 : problem.loops[loop].dim);
      }
    }
    return py::make_tuple(rows_of(boxes), parallel);
  }

  void restart(const PointArray& rows) { search_.restart(boxes_of(rows)); }

  // One block of the proof that no mapping of these boxes costs less than a bound, and the boxes of
  // the next ones.
  py::tuple prove(const PointArray& rows, double bound, int threads) const {
    const std::vector<optimum::Box> boxes = boxes_of(rows);
    optimum::Block block;
    {
      py::gil_scoped_release release;
      block = optimum::prove(search_.problem(), objective_, boxes, bound, threads);
    }
    return py::make_tuple(array_of(block.trims), array_of(block.trim_axes),
                          array_of(block.trim_ends), array_of(block.actions), array_of(block.parts),
                          array_of(block.sizes), array_of(block.goes_on), rows_of(block.next));
  }

  // The least cost of a box of mappings: choices of the parallel dimensions, the dimensions whose
  // loops move innermost (-1: none does, -2: any), and ranges of choices of the cluster size and of
  // the tiles, by dimension of the space; by the lemmas of certificates, or all.
  double bound_of(std::array<int, 2> parallel, std::array<int, 2> innermost, Range cluster,
                  const std::vector<Range>& outer, const std::vector<Range>& inner,
                  bool certified) const {
    const optimum::Problem& problem = search_.problem();
    const auto loop_of = [&](int dim) {
      return problem.index_of_dim(static_cast<std::size_t>(dim));
    };
    optimum::Box box{};
    for (std::size_t level = 0; level < parallel.size(); ++level) {
      box.parallel[level] =
          loop_of(problem.space.levels[level].parallel.values.at(parallel[level]));
      const int dim = innermost[level];
      box.innermost[level] = dim < 0 ? dim : loop_of(dim);
    }
    box.cluster = {cluster.first, cluster.second};
    for (std::size_t i = 0; i < problem.loops.size(); ++i) {
      const Range& tiles = outer.at(problem.loops[i].dim);
      const Range& below = inner.at(problem.loops[i].dim);
      box.tiles[i] = {{tiles.first, tiles.second}, {below.first, below.second}};
    }
    return search_.bound_of(box,
                            certified ? optimum::Lemmas::kOfCertificates : optimum::Lemmas::kAll);
  }

  optimum::Objective objective_;
  optimum::Search search_;

 private:
  static py::array rows_of(const std::vector<optimum::Box>& boxes) {
    const std::size_t width = sizeof(optimum::Box) / sizeof(std::int32_t);
    PointArray rows =
        new_array<std::int32_t>(Shape<2>{std::ssize(boxes), static_cast<py::ssize_t>(width)});
    // Without boxes there is no place to copy from, which memcpy must have.
    if (boxes.empty()) return rows;
    std::memcpy(rows.mutable_data(), boxes.data(), boxes.size() * sizeof(optimum::Box));
    return rows;
  }

  std::vector<optimum::Box> boxes_of(const PointArray& rows) const {
    std::vector<optimum::Box> boxes(static_cast<std::size_t>(rows.shape(0)));
    if (rows.nbytes() != std::ssize(boxes) * static_cast<py::ssize_t>(sizeof(optimum::Box))) {
      throw std::invalid_argument("no rows of boxes");
    }
    if (boxes.empty()) return boxes;
    std::memcpy(boxes.data(), rows.data(), static_cast<std::size_t>(rows.nbytes()));
    for (const optimum::Box& box : boxes) {
      if (!optimum::belongs(search_.problem(), box))
        throw std::invalid_argument("a box of another problem");
    }
    return boxes;
  }

  template <typename T>
  static py::array array_of(const std::vector<T>& values) {
    return py::array_t<T>(std::ssize(values), values.data());
  }

  static optimum::Objective objective_of(const Columns& columns) {
    const auto times = [&](std::string_view name) {
      return std::count_if(columns.begin(), columns.end(),
                           [name](std::size_t column) { return kMetricNames.at(column) == name; });
    };
    return {times("latency_cycles"), times("energy_nj"), times("area_um2")};
  }
};

inline void bind_optimum(py::module_& module) {
  using Search = OptimumSearch;
  py::class_<Search>(module, "OptimumSearch")
      .def(py::init<const NamedLayer&, const Hardware&, const NamedSpace&, const Columns&,
                    std::size_t>(),
           py::arg("layer"), py::arg("hardware"), py::arg("space"), py::arg("columns"),
           py::arg("most_open") = optimum::Search::kMostOpen)
      .def("ask", &Search::ask, py::arg("nodes"), py::arg("threads") = 1)
      .def(
          "tell", [](Search& self, double cost) { self.search_.tell(cost); }, py::arg("cost"))
      .def("left", &Search::left)
      .def("restart", &Search::restart, py::arg("boxes"))
      .def("all", &Search::all)
      .def("prove", &Search::prove, py::arg("boxes"), py::arg("bound"), py::arg("threads") = 1)
      .def("bound_of", &Search::bound_of, py::arg("parallel"), py::arg("innermost"),
           py::arg("cluster"), py::arg("outer"), py::arg("inner"), py::arg("certified"))
      .def_property_readonly("finished", [](const Search& self) { return self.search_.finished(); })
      .def_property_readonly("bound", [](const Search& self) { return self.search_.bound(); })
      .def_property_readonly("nodes", [](const Search& self) { return self.search_.nodes(); });
}

}  // namespace gym::python
