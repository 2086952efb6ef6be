// How long one unit's box of work takes (E3.4, E4.4-E4.5).
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <limits>
#include <vector>

#include "../hardware.hpp"
#include "unit_array.hpp"

namespace gym::exact {

struct Span {
  std::int64_t min = std::numeric_limits<std::int64_t>::max();
  std::int64_t max = 0;
  std::int64_t sum = 0;

  void add(std::int64_t value, std::int64_t times) {
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value * times;
  }
};

// What is reported of the steps of the outermost level.
struct Profile {
  Span ingress, compute, egress;
  std::int64_t steps = 0;
  std::int64_t peak_bw = 0;
  std::int64_t first_in = 0;
  std::int64_t last_out = 0;
  TileWords array_tile{};  // the largest
};

class BoxTimer {
 public:
  BoxTimer(const LoopNest& nest, const Hardware& hardware)
      : nest_(nest), hardware_(hardware), loops_(real_loops(nest)) {}

  // Cycles of the whole layer on chip. Buffers are kept between calls.
  std::int64_t run(const Tiling& tiling, Profile& profile);

 private:
  // One level at work on one box, and the boxes of its units.
  struct Frame {
    UnitArray array;
    std::bitset<256> timed;
    std::array<std::int64_t, 256> time;  // of a step, by state
    std::bitset<256> known;
    std::array<std::int64_t, 256> cycles;  // of a unit's box, by the loops at their tail
    bool units_never_wait = false;
  };
  struct Memo {
    Extents extent;
    std::int64_t cycles;
  };
  template <bool top>
  class Walk;

  template <bool top>
  std::int64_t evaluate(int j, State tails, Profile* profile);
  std::int64_t noc(std::int64_t words) const;
  // Cycles of the slowest unit in a step.
  std::int64_t step_time(int j, State state) {
    Frame& frame = frame_[j];
    const State key = frame.array.canonical(state);
    if (!frame.timed[key]) {
      frame.timed[key] = true;
      frame.time[key] = slowest_unit(j, key);
    }
    return frame.time[key];
  }
  std::int64_t slowest_unit(int j, State state);
  std::int64_t unit_time(int j, State tails);
  std::int64_t sub_box(int j, State tails);
  bool never_waits(int j) const;

  const LoopNest& nest_;
  const Hardware& hardware_;
  std::vector<LoopId> loops_;
  const Tiling* tiling_ = nullptr;
  std::array<Frame, kMaxLevels> frame_;
  std::array<std::vector<Memo>, kMaxLevels> memo_;
};

}  // namespace gym::exact
