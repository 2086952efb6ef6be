// Copies of an environment that improve mappings, on behalf of Python.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../improve/copies.hpp"
#include "arrays.hpp"
#include "evaluator.hpp"
#include "hierarchy_space.hpp"
#include "masks.hpp"
#include "moves.hpp"
#include "problem.hpp"

namespace gym::python {

// A problem to improve mappings of. It refers to its arguments, which Python keeps for it.
class NamedGround {
 public:
  using Machine = std::pair<NamedLayer, Hardware>;

  // With bottlenecks, if there is a machine that has them.
  NamedGround(Evaluator& evaluator, const NamedSpace& space, MasksOfVectors& masks,
              const NamedMoves& moves, const Columns& columns, const std::vector<float>& context,
              const std::optional<Machine>& machine) {
    require_alike(space.space, moves);
    make = [&, columns, context, machine] {
      std::unique_ptr<const improve::Bottlenecks> seen;
      if (machine) {
        const auto& [layer, hardware] = *machine;
        const LoopNest nest = loop_nest(layer.layer).value();
        seen = std::make_unique<improve::Bottlenecks>(layer.layer, nest, hardware, space.space);
      }
      return improve::Ground{
          std::make_unique<improve::ProblemOf<Scorer>>(evaluator.batch(), space.space, masks),
          moves.moves, columns, context, std::move(seen)};
    };
  }
  NamedGround(HierarchyEvaluator& evaluator, const HierarchySpace& space, MasksOfVectors& masks,
              const NamedMoves& moves, const Columns& columns, const std::vector<float>& context) {
    require_alike(space.space, moves);
    make = [&, columns, context] {
      return improve::Ground{std::make_unique<improve::ProblemOf<hierarchy::Scorer>>(
                                 evaluator.batch(), space.space, masks),
                             moves.moves, columns, context, nullptr};
    };
  }

  std::function<improve::Ground()> make;

 private:
  static void require_alike(const VectorSpace& space, const NamedMoves& moves) {
    if (moves.moves.width() != std::ssize(space.parameters)) {
      throw std::invalid_argument("the moves are of another space");
    }
  }
};

class NamedCopies {
  static constexpr auto kRow = static_cast<py::ssize_t>(kMetrics);

 public:
  NamedCopies(const std::vector<NamedGround*>& grounds, std::int64_t count, bool in_full,
              int threads)
      : in_full_(in_full), copies_(made(grounds), count, in_full, threads) {}

  void place(const Indices& copies, const Indices& grounds) {
    require_shape(grounds, {copies.size()});
    const auto chosen = span_of(copies, copies_.count()), on = span_of(grounds, copies_.grounds());
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      copies_.place(chosen[k], on[k]);
    }
  }

  // Points int32[N, D] of all copies after moves int64[N, M] of M different parameters.
  PointArray after(const Indices& indices) {
    const py::ssize_t each = indices.ndim() == 2 ? indices.shape(1) : 0;
    require_shape(indices, {count(), each});
    require_all_placed();
    const auto moves = span_of(indices, copies_.moves());
    auto points = new_array<std::int32_t>(Shape<2>{count(), width()});
    std::int32_t* point = points.mutable_data();
    alone([&] {
      for (std::int64_t copy = 0; copy < count(); ++copy) {
        const auto of_copy =
            moves.subspan(static_cast<std::size_t>(copy * each), static_cast<std::size_t>(each));
        copies_.after(copy, of_copy, point + copy * width());
      }
    });
    return points;
  }

  // Evaluates points int32[K, D] of copies int64[K] and makes the valid ones present. Returns
  // values, float64[K], infinite unless valid, status codes, int64[K], and rows or None.
  py::tuple try_points(const Indices& copies, const PointArray& points) {
    const py::ssize_t tried = copies.size();
    require_shape(points, {tried, width()});
    const auto chosen = span_of(copies, copies_.count());
    for (const std::int64_t copy : chosen) require_placed(copy);
    auto values = new_array<double>(Shape<1>{tried});
    auto codes = new_array<std::int64_t>(Shape<1>{tried});
    auto rows = new_array<double>(Shape<2>{in_full_ ? tried : 0, kRow});
    improve::Copies::Outcome outcome{values.mutable_data(), codes.mutable_data(), nullptr};
    if (in_full_) outcome.rows = reinterpret_cast<Metrics*>(rows.mutable_data());
    alone([&] { copies_.try_points(chosen, points.data(), outcome); });
    return py::make_tuple(std::move(values), std::move(codes), std::move(rows));
  }

  // The same for a point of the only copy, as plain numbers: in less time.
  py::tuple try_point(const PointArray& point) {
    require_shape(point, {width()});
    require_all_placed();
    double value;
    std::int64_t code;
    auto row = new_array<double>(Shape<1>{in_full_ ? kRow : 0});
    improve::Copies::Outcome outcome{&value, &code, nullptr};
    if (in_full_) outcome.rows = reinterpret_cast<Metrics*>(row.mutable_data());
    constexpr std::int64_t first = 0;
    alone([&] { copies_.try_points({&first, 1}, point.data(), outcome); });
    auto seen = new_array<float>(Shape<1>{copies_.seen_width()});
    std::copy_n(copies_.seen(0), copies_.seen_width(), seen.mutable_data());
    return py::make_tuple(std::move(seen), value, code, point, std::move(row));
  }
  // A move of the only copy.
  py::tuple step(std::int64_t move) {
    if (move < 0 || move >= copies_.moves()) throw std::out_of_range("no such move");
    require_all_placed();
    auto point = new_array<std::int32_t>(Shape<1>{width()});
    copies_.after(0, {&move, 1}, point.mutable_data());
    return try_point(point);
  }

  // Of all copies: float32[N, n], int32[N, D], float64[N] and int32[N].
  py::array_t<float> seen() const { return rows_of(copies_.seen(0), copies_.seen_width()); }
  PointArray present() const { return rows_of(copies_.present(0), width()); }
  py::array_t<double> values() const { return column_of(copies_.values(0)); }
  py::array_t<std::int32_t> grounds() const { return column_of(copies_.grounds_of(0)); }

  // Of all copies, bool[N, moves].
  py::array_t<bool> masks() {
    require_all_placed();
    auto found = new_array<bool>(Shape<2>{count(), copies_.moves()});
    bool* allowed = found.mutable_data();
    alone([&] {
      for (std::int64_t copy = 0; copy < count(); ++copy) {
        copies_.mask(copy, allowed + copy * copies_.moves());
      }
    });
    return found;
  }

 private:
  static std::vector<improve::Ground> made(const std::vector<NamedGround*>& grounds) {
    if (grounds.empty()) throw std::invalid_argument("copies need a ground");
    std::vector<improve::Ground> found;
    for (const NamedGround* each : grounds) found.push_back(each->make());
    for (const improve::Ground& each : found) {
      const bool alike = each.moves.count() == found[0].moves.count() &&
                         each.moves.width() == found[0].moves.width() &&
                         each.seen_width() == found[0].seen_width();
      if (!alike) throw std::invalid_argument("grounds have different moves");
    }
    return found;
  }

  py::ssize_t count() const { return static_cast<py::ssize_t>(copies_.count()); }
  py::ssize_t width() const { return static_cast<py::ssize_t>(copies_.width()); }

  void require_all_placed() const {
    for (std::int64_t copy = 0; copy < copies_.count(); ++copy) require_placed(copy);
  }
  void require_placed(std::int64_t copy) const {
    if (*copies_.grounds_of(copy) < 0) throw std::invalid_argument("a copy has no ground yet");
  }

  // Without Python's lock, but one call at a time: all write to the same places.
  template <typename Use>
  void alone(const Use& use) {
    py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    use();
  }

  template <typename T>
  py::array_t<T, py::array::c_style> rows_of(const T* first, py::ssize_t width) const {
    auto found = new_array<T>(Shape<2>{count(), width});
    std::copy_n(first, found.size(), found.mutable_data());
    return found;
  }
  template <typename T>
  py::array_t<T, py::array::c_style> column_of(const T* first) const {
    auto found = new_array<T>(Shape<1>{count()});
    std::copy_n(first, found.size(), found.mutable_data());
    return found;
  }

  bool in_full_;
  std::mutex mutex_;
  improve::Copies copies_;
};

inline void bind_improve(py::module_& module) {
  module.attr("BOTTLENECKS") = improve::kFeatures;
  module.attr("MOST_BOTTLENECK") = improve::kMostFeature;
  bind_moves(module);
  py::class_<NamedGround>(module, "Ground")
      .def(py::init<Evaluator&, const NamedSpace&, MasksOfVectors&, const NamedMoves&,
                    const Columns&, const std::vector<float>&,
                    const std::optional<NamedGround::Machine>&>(),
           py::arg("evaluator"), py::arg("space"), py::arg("masks"), py::arg("moves"),
           py::arg("columns"), py::arg("context"), py::arg("machine") = py::none(),
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>(), py::keep_alive<1, 4>(),
           py::keep_alive<1, 5>())
      .def(py::init<HierarchyEvaluator&, const HierarchySpace&, MasksOfVectors&, const NamedMoves&,
                    const Columns&, const std::vector<float>&>(),
           py::arg("evaluator"), py::arg("space"), py::arg("masks"), py::arg("moves"),
           py::arg("columns"), py::arg("context"), py::keep_alive<1, 2>(), py::keep_alive<1, 3>(),
           py::keep_alive<1, 4>(), py::keep_alive<1, 5>());
  // It refers to what the grounds refer to.
  py::class_<NamedCopies>(module, "Copies")
      .def(py::init<const std::vector<NamedGround*>&, std::int64_t, bool, int>(),
           py::arg("grounds"), py::arg("count"), py::arg("in_full"), py::arg("threads"),
           py::keep_alive<1, 2>())
      .def("place", &NamedCopies::place, py::arg("copies"), py::arg("grounds"))
      .def("after", &NamedCopies::after, py::arg("moves"))
      .def("try_points", &NamedCopies::try_points, py::arg("copies"), py::arg("points"))
      .def("try_point", &NamedCopies::try_point, py::arg("point"))
      .def("step", &NamedCopies::step, py::arg("move"))
      .def("seen", &NamedCopies::seen)
      .def("present", &NamedCopies::present)
      .def("values", &NamedCopies::values)
      .def("grounds", &NamedCopies::grounds)
      .def("masks", &NamedCopies::masks);
}

}  // namespace gym::python
