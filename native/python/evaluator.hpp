// Batches of points and single mappings, evaluated on behalf of Python.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../batch.hpp"
#include "arrays.hpp"
#include "information.hpp"
#include "names.hpp"
#include "observation.hpp"
#include "points.hpp"
#include "space.hpp"

namespace gym::python {

namespace py = pybind11;

class Evaluator {
  static constexpr std::int64_t kBlock = 1 << 15;

 public:
  Evaluator(const std::string& model, const NamedLayer& layer, const Hardware& hardware,
            bool guarded)
      : layer_(layer), batch_(make_spec(model, layer, hardware, guarded)) {}

  py::tuple evaluate(const NamedSpace& space, const py::array& points, int threads) {
    const std::int64_t total = count_points(space.space, points);
    py::array_t<double> rows({total, static_cast<std::int64_t>(kMetrics)});
    py::array_t<std::uint8_t> statuses(total);
    auto* row = reinterpret_cast<Metrics*>(rows.mutable_data());
    auto* status = reinterpret_cast<Status*>(statuses.mutable_data());
    in_blocks(space.space, points, [&](const std::int32_t* point, std::int64_t at, auto size) {
      return batch_.evaluate(space.space, point, size, threads, row + at, status + at);
    });
    return py::make_tuple(rows, statuses);
  }

  py::tuple score(const NamedSpace& space, const py::array& points, const Columns& columns,
                  int threads) {
    require_columns(columns);
    const std::int64_t total = count_points(space.space, points);
    py::array_t<double> values(total);
    py::array_t<std::uint8_t> statuses(total);
    double* value = values.mutable_data();
    auto* status = reinterpret_cast<Status*>(statuses.mutable_data());
    in_blocks(space.space, points, [&](const std::int32_t* point, std::int64_t at, auto size) {
      return batch_.evaluate(space.space, point, size, threads, columns, value + at, status + at);
    });
    return py::make_tuple(values, statuses);
  }

  // One vector as a step of an environment shows it, and the product of some metrics, in one call:
  // what numpy and Python take for the same is several times what the model takes.
  py::tuple observe(const NamedSpace& space, const py::object& values, const Columns& columns) {
    require_columns(columns);
    const Points point = to_point(space.space, values);
    Metrics metrics;
    Status status;
    std::optional<BatchEvaluator::Stray> stray;
    {
      py::gil_scoped_release release;
      stray = batch_.evaluate(space.space, point.data(), 1, 1, &metrics, &status);
    }
    if (stray) refuse(space.space, stray->index, stray->value);
    auto observation = new_array<float>(Shape<1>{kObserved});
    python::observe(metrics, observation.mutable_data());
    return py::make_tuple(std::move(observation), value_of(metrics, status, columns),
                          informer_.inform(status, point, metrics));
  }

  // Plain Python numbers, so that a single mapping needs no numpy.
  py::tuple evaluate_mapping(const std::vector<NamedDirective>& directives) {
    const Mapping mapping = layer_.read(directives);
    BatchEvaluator::Single single;
    {
      py::gil_scoped_release release;
      single = batch_.evaluate(mapping);
    }
    const auto* figures = reinterpret_cast<const double*>(&single.metrics);
    py::list clusters;
    for (const ClusterMetrics& each : single.clusters) {
      clusters.append(py::make_tuple(each.input_writes, each.filter_writes, each.input_reads,
                                     each.filter_reads, each.output_writes, each.output_reads,
                                     each.bytes));
    }
    return py::make_tuple(std::vector<double>(figures, figures + kMetrics),
                          kStatusNames[static_cast<std::size_t>(single.status)], clusters,
                          single.problem);
  }

  std::vector<double> time_points(const NamedSpace& space, const py::array& points) {
    const std::int64_t count = count_points(space.space, points);
    const std::vector<std::int32_t> copied(data_of(points), data_of(points) + points.size());
    require_in_range(space.space, copied.data(), count);
    py::gil_scoped_release release;
    return batch_.time(space.space, copied.data(), count);
  }

  std::vector<double> time_mappings(const std::vector<std::vector<NamedDirective>>& lists) {
    std::vector<Mapping> mappings;
    for (const auto& directives : lists) mappings.push_back(layer_.read(directives));
    py::gil_scoped_release release;
    return batch_.time(mappings);
  }

 private:
  static const std::int32_t* data_of(const py::array& points) {
    return static_cast<const std::int32_t*>(points.data());
  }

  static void require_columns(const Columns& columns) {
    for (const std::size_t column : columns) {
      if (column >= kMetrics) throw std::out_of_range("no such column of metrics");
    }
  }

  // `evaluate(points, index, count)` is called with the first of some points, one block after the
  // other.
  template <typename Evaluate>
  static void in_blocks(const MapSpace& space, const py::array& points, const Evaluate& evaluate) {
    const std::int32_t* point = data_of(points);
    const std::int64_t total = points.shape(0);
    const auto width = static_cast<std::int64_t>(space.parameters.size());
    for (std::int64_t start = 0; start < total; start += kBlock) {
      // Between blocks Ctrl-C gets through.
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      std::optional<BatchEvaluator::Stray> stray;
      {
        py::gil_scoped_release release;
        stray = evaluate(point + start * width, start, std::min(kBlock, total - start));
      }
      if (stray) refuse(space, start * width + stray->index, stray->value);
    }
  }

  static ScorerSpec make_spec(const std::string& model, const NamedLayer& layer,
                              const Hardware& hardware, bool guarded) {
    if (!make_model(model, layer.layer, hardware)) {
      throw std::invalid_argument("unknown model '" + model + "'");
    }
    if (!loop_nest(layer.layer)) throw std::invalid_argument("the layer has no outputs");
    return {model, layer.layer, hardware, guarded};
  }

  NamedLayer layer_;
  BatchEvaluator batch_;
  Informer informer_;
};

inline void bind_evaluator(py::module_& module) {
  py::class_<Evaluator>(module, "BatchEvaluator")
      .def(py::init<const std::string&, const NamedLayer&, const Hardware&, bool>(),
           py::arg("model"), py::arg("layer"), py::arg("hardware"), py::arg("guarded"))
      .def("evaluate", &Evaluator::evaluate, py::arg("space"), py::arg("points"),
           py::arg("threads") = 1)
      .def("score", &Evaluator::score, py::arg("space"), py::arg("points"), py::arg("columns"),
           py::arg("threads") = 1)
      .def("observe", &Evaluator::observe, py::arg("space"), py::arg("values"), py::arg("columns"))
      .def("evaluate_mapping", &Evaluator::evaluate_mapping, py::arg("directives"))
      .def("time_points", &Evaluator::time_points, py::arg("space"), py::arg("points"))
      .def("time_mappings", &Evaluator::time_mappings, py::arg("mappings"));
}

}  // namespace gym::python
