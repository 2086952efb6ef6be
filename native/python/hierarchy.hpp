// The model of accelerators with any memories, on behalf of Python, which checks descriptions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "../hierarchy/model.hpp"
#include "arrays.hpp"
#include "problem.hpp"

namespace gym::python {

inline constexpr std::array<const char*, kTensors> kTensorNames = {"input", "filter", "output"};
inline constexpr std::array<const char*, 6> kFigureNames = {
    "latency_cycles", "compute_cycles", "first_cycles", "last_cycles", "port_cycles", "energy_nj"};

// Element, dimension, tile.
inline constexpr py::ssize_t kEntries = 3;
using Entries = std::array<std::int32_t, kEntries>;
static_assert(sizeof(hierarchy::MappedLoop) == sizeof(Entries));

inline hierarchy::Mapping mapping_of(const std::vector<Entries>& loops) {
  return {reinterpret_cast<const hierarchy::MappedLoop*>(loops.data()), loops.size()};
}

class Hierarchy {
  using Row = std::array<double, kFigureNames.size()>;

 public:
  Hierarchy(const hierarchy::ScorerSpec& spec, const std::vector<py::dict>& elements)
      : model_(spec.shape, spec.accelerator, spec.options) {
    for (const py::dict& each : elements) {
      names_.push_back(each.contains("name") ? each["name"].cast<std::string>() : "");
    }
    names_.resize(elements.size() + 1);
    names_.emplace_back("mac");
  }

  static hierarchy::ScorerSpec spec(const std::array<std::int64_t, kLoops>& extents,
                                    const std::array<std::int64_t, 2>& strides,
                                    const std::array<std::int64_t, 2>& dilations,
                                    const std::vector<py::dict>& elements, const py::dict& mac,
                                    const py::dict& options) {
    return {{extents, strides, dilations}, read(elements, mac), read(options)};
  }

  // Of one mapping: its status and, where there are results, the figures, the traffic and the bits
  // that tiles of each tensor take of the physical memory of each element, in plain Python numbers.
  py::tuple evaluate(const std::vector<Entries>& loops) {
    const std::lock_guard lock(mutex_);
    hierarchy::Figures figures{};
    const hierarchy::Verdict verdict = model_.evaluate(mapping_of(loops), figures);
    const py::str status{std::string(hierarchy::kVerdictNames[static_cast<std::size_t>(verdict)])};
    if (!has_results(verdict)) return py::make_tuple(status, py::none());
    py::list needed;
    for (std::size_t e = 0; e + 2 < names_.size(); ++e) {
      const int element = static_cast<int>(e);
      needed.append(py::make_tuple(model_.needs(element, kInput), model_.needs(element, kFilter),
                                   model_.needs(element, kOutput)));
    }
    return py::make_tuple(status, py::make_tuple(row_of(figures), traffic(), needed));
  }

  // Of int32[N, L, 3]; loops whose element is -1 end a mapping. Returns float64[N, 6], NaN where
  // there are no results, and uint8[N].
  py::tuple evaluate_batch(const py::array& mappings) {
    if (!py::isinstance<PointArray>(mappings) || mappings.ndim() != 3 ||
        mappings.shape(2) != kEntries) {
      throw std::invalid_argument(
          "mappings must be a C-contiguous int32 array of shape [N, L, 3], "
          "got " +
          described(mappings));
    }
    const py::ssize_t count = mappings.shape(0), width = mappings.shape(1);
    auto rows = new_array<double>(Shape<2>{count, static_cast<py::ssize_t>(kFigureNames.size())});
    auto statuses = new_array<std::uint8_t>(Shape<1>{count});
    auto* row = reinterpret_cast<Row*>(rows.mutable_data());
    std::uint8_t* status = statuses.mutable_data();
    const auto* loops = static_cast<const hierarchy::MappedLoop*>(mappings.data());
    {
      py::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      for (py::ssize_t i = 0; i < count; ++i, loops += width) {
        const auto* end =
            std::find_if(loops, loops + width, [](const auto& loop) { return loop.element == -1; });
        hierarchy::Figures figures{};
        const hierarchy::Verdict verdict = model_.evaluate({loops, end}, figures);
        status[i] = static_cast<std::uint8_t>(verdict);
        row[i] = row_of(figures);
        if (!has_results(verdict)) row[i].fill(std::numeric_limits<double>::quiet_NaN());
      }
    }
    return py::make_tuple(rows, statuses);
  }

  // Of each boundary: tensor, parent and child by number, the MAC's being that of the elements; and
  // of an access of each kind: energy in pJ, and cycles at the two ports of each element, at least.
  // After them those of each fan-out of limited bandwidth, as a parent.
  py::list prices() const {
    py::list found;
    const int last = static_cast<int>(names_.size()) - 2;
    for (const auto& [between, prices] : model_.prices()) {
      py::list kinds;
      for (const hierarchy::Price& each : prices) {
        kinds.append(py::make_tuple(each.energy_pj, each.port_cycles));
      }
      found.append(py::make_tuple(static_cast<int>(between.tensor), between.parent,
                                  std::min(between.child, last), kinds));
    }
    return found;
  }

  // By tensor and element, at its two ports.
  auto roundings() const { return model_.roundings(); }

 private:
  static Row row_of(const hierarchy::Figures& figures) {
    return {figures.latency_cycles, figures.compute_cycles, figures.first_cycles,
            figures.last_cycles,    figures.port_cycles,    figures.energy_pj / 1000};
  }

  template <typename T>
  static void take(const py::dict& given, const char* name, T& value) {
    value = given[name].cast<T>();
  }

  static hierarchy::Accelerator read(const std::vector<py::dict>& elements, const py::dict& mac) {
    hierarchy::Accelerator accelerator;
    for (const py::dict& each : elements) {
      hierarchy::Element& element = accelerator.elements.emplace_back();
      element.is_memory = each.contains("keeps");
      if (element.is_memory) {
        read(each, element.memory);
      } else {
        take(each, "size", element.fanout.size);
        take(each, "together", element.fanout.together);
        take(each, "pj", element.fanout.pj);
        take(each, "bw", element.fanout.bw);
      }
    }
    take(mac, "simd", accelerator.simd_lanes);
    take(mac, "latch", accelerator.latch);
    take(mac, "pj", accelerator.mac_pj);
    take(mac, "leak_pj", accelerator.leak_pj);
    return accelerator;
  }

  static void read(const py::dict& given, hierarchy::Memory& memory) {
    take(given, "keeps", memory.keeps);
    take(given, "forgets", memory.forgets);
    take(given, "width", memory.width);
    take(given, "buffers", memory.buffers);
    take(given, "pool", memory.pool);
    take(given, "capacity", memory.capacity);
    take(given, "read_bw", memory.read_bw);
    take(given, "write_bw", memory.write_bw);
    take(given, "one_port", memory.one_port);
    take(given, "read_pj", memory.read_pj);
    take(given, "write_pj", memory.write_pj);
    take(given, "beat_bits", memory.beat_bits);
    take(given, "gaps", memory.gaps);
    take(given, "cache_bits", memory.cache.bits);
    take(given, "line_bits", memory.cache.line_bits);
    take(given, "miss_cycles", memory.cache.miss_cycles);
    take(given, "launch_cycles", memory.launch_cycles);
    take(given, "step_cycles", memory.step_cycles);
    take(given, "load_cycles", memory.load_cycles);
    take(given, "finish_cycles", memory.finish_cycles);
    take(given, "refill", memory.refill);
  }

  // The code of each choice is its place in the list of what is allowed.
  static hierarchy::Options read(const py::dict& given) {
    return {given["halo"].cast<bool>(), given["share"].cast<bool>(),
            static_cast<hierarchy::PartialSums>(given["psum"].cast<int>()),
            given["drains"].cast<bool>(), given["exposed"].cast<bool>()};
  }

  py::list traffic() const {
    py::list found;
    for (std::size_t b = 0; b < model_.boundaries().size(); ++b) {
      const auto& [tensor, parent, child] = model_.boundaries()[b];
      const hierarchy::Moved& moved = model_.moved()[b];
      const hierarchy::Flow& flow = model_.flows()[b].all;
      found.append(py::make_tuple(kTensorNames[tensor], names_[static_cast<std::size_t>(parent)],
                                  names_[static_cast<std::size_t>(child)],
                                  moved.words[hierarchy::kParents],
                                  moved.words[hierarchy::kChildren], moved.fresh, flow.parent_reads,
                                  flow.parent_writes, flow.child_reads, flow.child_writes));
    }
    return found;
  }

  std::mutex mutex_;  // of the model, for a batch of one thread leaves the others running
  hierarchy::Model model_;
  std::vector<std::string> names_;
};

inline void bind_hierarchy(py::module_& module) {
  module.attr("HIERARCHY_STATUSES") = py::tuple(py::cast(interned(hierarchy::kVerdictNames)));
  module.attr("HIERARCHY_FIGURES") = py::tuple(py::cast(interned(kFigureNames)));
  module.attr("HIERARCHY_MAX_ELEMENTS") = hierarchy::kMaxElements;
  module.attr("HIERARCHY_MAX_FANOUTS") = hierarchy::kMaxFanouts;
  py::class_<Hierarchy>(module, "HierarchyEvaluator")
      .def(py::init([](const std::array<std::int64_t, kLoops>& extents,
                       const std::array<std::int64_t, 2>& strides,
                       const std::array<std::int64_t, 2>& dilations,
                       const std::vector<py::dict>& elements, const py::dict& mac,
                       const py::dict& options) {
             return std::make_unique<Hierarchy>(
                 Hierarchy::spec(extents, strides, dilations, elements, mac, options), elements);
           }),
           py::arg("extents"), py::arg("strides"), py::arg("dilations"), py::arg("elements"),
           py::arg("mac"), py::arg("options"))
      .def("evaluate", &Hierarchy::evaluate, py::arg("loops"))
      .def("evaluate_batch", &Hierarchy::evaluate_batch, py::arg("mappings"))
      .def("prices", &Hierarchy::prices)
      .def("roundings", &Hierarchy::roundings);
}

}  // namespace gym::python
