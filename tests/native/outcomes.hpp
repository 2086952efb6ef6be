// All that the core says of a problem's mappings.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "../../native/batch.hpp"
#include "../../native/maestro/network.hpp"
#include "fuzz_input.hpp"

namespace driver {

// What an evaluator said of one mapping.
struct Outcome {
  std::string model;
  bool guarded;
  std::size_t mapping;
  gym::BatchEvaluator::Single single;
};

// Of all mappings in turn, and then of the first again: by one evaluator for each model and guard.
inline std::vector<Outcome> outcomes(const Problem& problem) {
  std::vector<Outcome> said;
  if (!gym::loop_nest(problem.layer)) return said;
  for (const std::string model : {"exact", "maestro"}) {
    for (const bool guarded : {false, true}) {
      gym::BatchEvaluator evaluator({model, problem.layer, problem.hardware, guarded});
      for (std::size_t i = 0; i <= problem.mappings.size(); ++i) {
        const std::size_t mapping = i < problem.mappings.size() ? i : 0;
        if (problem.mappings.empty()) break;
        said.push_back({model, guarded, mapping, evaluator.evaluate(problem.mappings[mapping])});
      }
    }
  }
  return said;
}

// What the drop-in's parser lets through.
inline bool is_parsed(const gym::Layer& layer) {
  return layer.stride[gym::kY] >= 1 && layer.stride[gym::kX] >= 1 &&
         std::all_of(layer.extents.begin(), layer.extents.end(),
                     [](const gym::Layer::Extent& each) { return each.value != 0; });
}

// Runs the drop-in, for sanitizers to watch: each mapping as a network, then all as one.
inline void run_networks(const Problem& problem) {
  if (!is_parsed(problem.layer)) return;
  const gym::Hardware& hw = problem.hardware;
  gym::maestro::Machine machine{hw.num_pes, hw.simd_lanes, hw.offchip_bw, {}};
  for (int i = 0; i < 4; ++i) {
    machine.nocs.push_back({hw.noc_bw, static_cast<std::int32_t>(hw.noc_latency)});
  }
  std::vector<gym::maestro::MappedLayer> all;
  for (const gym::Mapping& mapping : problem.mappings) {
    all.push_back({problem.layer, mapping});
    gym::maestro::run_network({all.back()}, machine);
  }
  gym::maestro::run_network(all, machine);
}

}  // namespace driver
