// Runs a layer's levels: counts, delays and runtime (S7).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "../core/hardware.hpp"
#include "traffic.hpp"
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

// Whether this build has the 80-bit long double of x86, in which the MAESTRO binary sums. Without
// it nothing here is right: only model exact can be used.
inline constexpr bool kHasExtendedPrecision = std::numeric_limits<long double>::digits == 64;

// A sum of integers as the binary has it: a long double, which is exact as long as an integer is.
class Sum {
 public:
  void add(std::int64_t value) {
    if (rounded_ || __builtin_add_overflow(integer_, value, &integer_)) add_rounded(value);
  }
  long double value() const { return rounded_ ? real_ : static_cast<long double>(integer_); }

 private:
  void add_rounded(std::int64_t value);

  std::int64_t integer_ = 0;
  long double real_ = 0;
  bool rounded_ = false;
};

struct Delays {
  std::int64_t min = std::numeric_limits<std::int64_t>::max();
  std::int64_t max = 0;
  Sum sum;

  void add(std::int64_t delay, std::int64_t times) {
    min = std::min(min, delay);
    max = std::max(max, delay);
    sum.add(wrap_mul(times, delay));
  }
};

struct LevelResult {
  Traffics traffic;
  std::int64_t runtime = 0;
  std::int64_t macs = 0;
  double active_units = 0;  // average
  Delays ingress, egress, compute;
  std::int64_t peak_bw = 0;
  std::int64_t offchip_bw = 0;
  Sum words_per_cycle;  // over iterations
  std::int64_t iterations = 0;
  std::int64_t last_macs = 0, last_incoming = 0;
  double intensity = 0;  // of the last step
};

struct LayerResult {
  LevelResult top;
  std::array<std::int64_t, kTensors> l1_size{};  // of the innermost level reached
  bool nested = false;                           // a level below the top was run
};

class Analysis {
 public:
  Analysis(const LayerTable& table, const Machine& machine);

  // Evaluates the built `levels`; buffers are kept between calls.
  Status run(const Levels& levels, LayerResult& result);

 private:
  // All the level above needs to know of a level, for one choice of extents.
  struct SubResult {
    std::uint64_t stamp = 0;  // of the mapping it belongs to
    std::int64_t runtime = 0;
    std::int64_t iterations = 0;
    double active_units = 0;  // average
  };
  // A step's part that depends on the loops at an edge only.
  struct Work {
    std::uint64_t stamp = 0;  // of the mapping it belongs to
    Edges edges = 0;
    bool timed = false;  // whether the figures below `volume` are there
    Volume volume{};
    std::int64_t compute = 0, egress_delay = 0;
    std::int64_t offchip_bw = 0;  // top level only
    double active_units = 0;
  };
  // Extents of a level below differ in input and filter dimensions only.
  static constexpr std::size_t kChoices = 1 << 8;
  static constexpr std::size_t kWorks = 1 << 8;
  struct LevelState {
    Volumes volumes;
    std::array<SubResult, kChoices> results;  // by the extents chosen
    std::array<Work, kWorks> works;           // by the low bits of the edges
  };
  struct Step {
    std::int64_t occurrences;
    std::int64_t input = 0, filter = 0;
    std::int64_t delay = 0;  // of both
  };

  template <typename Result>
  Status run_level(int j, std::uint32_t remainders, Result& result);
  Work& work_at(LevelState& level, Edges edges) const;
  template <typename Result>
  Status time_work(int j, const Result& total, Work& work);
  Status run_jobs(int j, Work& work);
  void size_buffers(const Step& step, const Work& work, LevelResult& total) const;
  static void report(const Step& step, const Work& work, LevelResult& total);
  static void conclude(bool accepted, LevelResult& total);
  void complete_first(int j, std::int64_t sizings);

  const LayerTable& table_;
  const Machine& machine_;
  std::array<std::int64_t, kTensors> words_;  // of whole tensors, as the binary counts them
  const Levels* levels_ = nullptr;
  LayerResult* layer_ = nullptr;
  bool first_completed_ = false;
  std::int64_t offchip_cycles_ = 0;  // for both halves of the L2 buffers, twice a step's
  std::vector<LevelState> states_;
  std::uint64_t stamp_ = 0;
};

}  // namespace gym::maestro
