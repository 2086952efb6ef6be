// Batches of points and single mappings, evaluated on behalf of Python, and what environments show
// of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../evaluate/batch.hpp"
#include "../evaluate/models.hpp"
#include "../evaluate/observation.hpp"
#include "arrays.hpp"
#include "problem.hpp"

namespace gym::python {

// Evaluates points of spaces that are called so in Python, by a batch of their scorer.
template <typename Batch, typename NamedSpace>
class PointEvaluator {
  static constexpr std::int64_t kBlock = 1 << 15;
  using Points = typename Batch::Points;
  using Stray = std::optional<typename Batch::Stray>;

 public:
  template <typename Spec>
  explicit PointEvaluator(Spec spec) : batch_(std::move(spec)) {}

  py::tuple evaluate(const NamedSpace& space, const py::array& array, int threads) {
    const Points points = points_of(space.space, array);
    py::array_t<double> rows({points.count, static_cast<std::int64_t>(kMetrics)});
    auto* row = reinterpret_cast<Metrics*>(rows.mutable_data());
    const auto statuses = in_blocks(points, [&](const Points& block, auto start, Status* status) {
      return batch_.evaluate(block, threads, row + start, status);
    });
    return py::make_tuple(rows, statuses);
  }

  py::tuple score(const NamedSpace& space, const py::array& array, const Columns& columns,
                  int threads) {
    require_columns(columns);
    const Points points = points_of(space.space, array);
    py::array_t<double> values(points.count);
    double* value = values.mutable_data();
    const auto statuses = in_blocks(points, [&](const Points& block, auto start, Status* status) {
      return batch_.evaluate(block, threads, columns, value + start, status);
    });
    return py::make_tuple(values, statuses);
  }

  // One vector as a step of an environment shows it, in one call: what numpy and Python take for
  // the same is several times what the model takes. Returns the observation, the product of some
  // metrics, the code of the status, the vector, and the row of metrics.
  py::tuple observe(const NamedSpace& space, const py::object& values, const Columns& columns) {
    require_columns(columns);
    PointArray point = to_point(space.space, values);
    auto row = new_array<double>(Shape<1>{kMetrics});
    auto& metrics = *reinterpret_cast<Metrics*>(row.mutable_data());
    Status status;
    Stray stray;
    {
      py::gil_scoped_release release;
      stray = batch_.evaluate({space.space, point.data(), 1}, 1, &metrics, &status);
    }
    if (stray) refuse(space.space, stray->index, stray->value);
    auto observation = new_array<float>(Shape<1>{kObserved});
    gym::observe(metrics, observation.mutable_data());
    return py::make_tuple(std::move(observation), value_of(metrics, status, columns),
                          static_cast<int>(status), std::move(point), std::move(row));
  }

  Batch& batch() { return batch_; }

  std::vector<double> time_points(const NamedSpace& space, const py::array& array) {
    const Points given = points_of(space.space, array);
    const std::vector<std::int32_t> copy(given.first, given[given.count]);
    const Points points{space.space, copy.data(), given.count};
    require_in_range(points);
    py::gil_scoped_release release;
    return batch_.time(points);
  }

 protected:
  Batch batch_;

 private:
  static void require_columns(const Columns& columns) {
    for (const std::size_t column : columns) {
      if (column >= kMetrics) throw std::out_of_range("no such column of metrics");
    }
  }

  // Statuses; `evaluate(block, start, statuses)` is called with one part of the points after the
  // other.
  template <typename Evaluate>
  static py::array_t<std::uint8_t> in_blocks(const Points& points, const Evaluate& evaluate) {
    py::array_t<std::uint8_t> statuses(points.count);
    auto* status = reinterpret_cast<Status*>(statuses.mutable_data());
    for (std::int64_t start = 0; start < points.count; start += kBlock) {
      // Between blocks Ctrl-C gets through.
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      Stray stray;
      {
        py::gil_scoped_release release;
        const std::int64_t size = std::min(kBlock, points.count - start);
        stray = evaluate(points.part(start, size), start, status + start);
      }
      if (stray) refuse(points.space, start * points.width() + stray->index, stray->value);
    }
    return statuses;
  }
};

class Evaluator : public PointEvaluator<BatchEvaluator, NamedSpace> {
 public:
  Evaluator(const std::string& model, const NamedLayer& layer, const Hardware& hardware,
            bool guarded)
      : PointEvaluator(make_spec(model, layer, hardware, guarded)), layer_(layer) {}

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

 private:
  static ScorerSpec make_spec(const std::string& model, const NamedLayer& layer,
                              const Hardware& hardware, bool guarded) {
    if (!make_model(model, layer.layer, hardware)) {
      throw std::invalid_argument("unknown model '" + model + "'");
    }
    if (!loop_nest(layer.layer)) throw std::invalid_argument("the layer has no outputs");
    return {model, layer.layer, hardware, guarded};
  }

  NamedLayer layer_;
};

template <typename Class>
void bind_points(py::class_<Class>& bound) {
  bound
      .def("evaluate", &Class::evaluate, py::arg("space"), py::arg("points"),
           py::arg("threads") = 1)
      .def("score", &Class::score, py::arg("space"), py::arg("points"), py::arg("columns"),
           py::arg("threads") = 1)
      .def("observe", &Class::observe, py::arg("space"), py::arg("values"), py::arg("columns"))
      .def("time_points", &Class::time_points, py::arg("space"), py::arg("points"));
}

inline void bind_evaluator(py::module_& module) {
  py::class_<Evaluator> bound(module, "BatchEvaluator");
  bound
      .def(py::init<const std::string&, const NamedLayer&, const Hardware&, bool>(),
           py::arg("model"), py::arg("layer"), py::arg("hardware"), py::arg("guarded"))
      .def("evaluate_mapping", &Evaluator::evaluate_mapping, py::arg("directives"));
  bind_points(bound);
}

// float32[N, 4] of float64[N, M].
inline py::array_t<float> observations_of(const py::array_t<double, py::array::c_style>& rows) {
  if (rows.ndim() != 2 || rows.shape(1) != static_cast<py::ssize_t>(kMetrics)) {
    throw std::invalid_argument("rows of metrics needed");
  }
  py::array_t<float> observations = new_array<float>(Shape<2>{rows.shape(0), kObserved});
  const auto* row = reinterpret_cast<const Metrics*>(rows.data());
  float* observation = observations.mutable_data();
  for (py::ssize_t i = 0; i < rows.shape(0); ++i, observation += kObserved) {
    observe(row[i], observation);
  }
  return observations;
}

inline void bind_observation(py::module_& module) {
  module.attr("OBSERVED") = kObserved;
  module.def("observations", &observations_of, py::arg("metrics"));
}

}  // namespace gym::python
