// Runs a layer's levels: counts, delays and runtime (S7).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "../hardware.hpp"
#include "volumes.hpp"

namespace gym::maestro {

struct Noc {
  std::int32_t bw = 1;       // words per cycle
  std::int32_t latency = 0;  // cycles
};

// The accelerator as the binary sees it: one NoC per level, the innermost level's first.
struct Machine {
  std::int32_t num_pes = 1;
  std::int32_t simd_lanes = 1;
  std::int32_t offchip_bw = 1;
  std::vector<Noc> nocs;
};

// Four identical NoCs, as the binary sets them up.
Machine make_machine(const Hardware& hardware);

struct Delays {
  std::int64_t min = std::numeric_limits<std::int64_t>::max();
  std::int64_t max = 0;
  long double sum = 0;

  void add(std::int64_t delay, std::int64_t times);
};

// Words of one tensor: L2 is the level's upstream buffer, L1 what it fills.
struct Traffic {
  std::int64_t l1_read = 0, l1_write = 0, l2_read = 0, l2_write = 0;
  std::int64_t l1_size = 0, l2_size = 0;
};

struct LevelResult {
  std::array<Traffic, kTensors> traffic;
  std::int64_t runtime = 0;
  std::int64_t macs = 0;
  double active_units = 0;  // average
  Delays ingress, egress, compute;
  std::int64_t peak_bw = 0;
  std::int64_t offchip_bw = 0;
  long double words_per_cycle = 0;  // summed over iterations
  std::int64_t iterations = 0;
  double intensity = 0;
};

struct LayerResult {
  LevelResult top;
  std::array<std::int64_t, kTensors> l1_size{};  // of the innermost level reached
  bool nested = false;                           // a level below the top was run
};

class Analysis {
 public:
  Analysis(const LayerTable& table, const Machine& machine) : table_(table), machine_(machine) {}

  // Evaluates the built `levels`; buffers are kept between calls.
  Status run(const Levels& levels, LayerResult& result);

 private:
  using Extents = std::array<std::int32_t, kMaxDims>;
  struct SubResult {
    std::int64_t runtime = 0;
    double active_units = 0;
  };
  struct Memo {
    std::vector<SubResult> results;
    std::vector<std::uint32_t> stamps;
  };
  struct Step {
    std::int32_t occurrences = 0;
    std::int64_t input = 0, filter = 0, egress = 0, macs = 0, unit = 0;
    std::int64_t compute = 0, wait = 0;
    double active_units = 0;
  };

  Status run_level(int j, const Extents& extent, LevelResult& result);
  Status run_case(int j, const Extents& extent, const Volumes& volumes, bool sizing,
                  LevelResult& result, bool& accepted);
  Status fetch(const Volumes& volumes, Step& step) const;
  void size_buffers(int j, const Extents& extent, const Step& step, LevelResult& result) const;
  Status compute(int j, Step& step);
  Status run_job(int j, bool ragged, SubResult& result);
  Status wait(int j, const LevelResult& result, const Step& step, std::int64_t in, std::int64_t out,
              std::int64_t& cycles) const;
  Status require_offchip(const Step& step, LevelResult& result) const;
  void count_outputs(const Step& step, LevelResult& result) const;
  void accumulate(const Step& step, LevelResult& result) const;
  void report(const Step& step, std::int64_t in, std::int64_t out, LevelResult& result) const;

  const LayerTable& table_;
  const Machine& machine_;
  const Levels* levels_ = nullptr;
  LayerResult* layer_ = nullptr;
  bool first_completed_ = false;
  std::array<Cases, kMaxLevels> cases_;
  std::array<Memo, kMaxLevels> memo_;
  std::uint32_t stamp_ = 0;
};

}  // namespace gym::maestro
