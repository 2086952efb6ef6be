// Iteration cases: the few kinds of steps a level's loops go through (S5).
#pragma once

#include <array>

#include "../integers.hpp"
#include "level.hpp"

namespace gym::maestro {

// The states one directive goes through: Init, then Steady and Edge where there are such.
struct LoopStates {
  std::int32_t steady = 0;  // count of Steady, 0 if there is none
  bool edge = false;        // there is an Edge
  bool unrolled = false;    // of Init
  bool partial = false;     // Init is at an edge itself; it is the only state then
  bool ragged = false;      // of the state at an edge, whichever that is

  int count() const { return 1 + (steady > 0 ? 1 : 0) + (edge ? 1 : 0); }
};

LoopStates loop_states(const LevelDirective& directive, std::int32_t extent, std::int32_t units);

// What the states of all loops of a case come to, or the part one state has in it.
struct Case {
  std::int32_t occurrences = 1;  // may wrap around
  std::int32_t moving = 0;  // 1 + the index of the innermost directive that has left Init, or 0
  std::uint32_t remainders = 0;  // temporal dimensions at an edge, by Level::remainder_bit
  std::uint32_t ended = 0;       // bit k: the k-th spatial directive stands at Edge
  std::int64_t outputs = 1;      // temporal factors of the output volume ...
  std::int64_t macs = 1;         // ... and of the MACs

  Case with(const Case& state) const {
    return {wrap32(std::int64_t{occurrences} * state.occurrences),
            state.moving != 0 ? state.moving : moving,
            remainders | state.remainders,
            ended | state.ended,
            wrap_mul(outputs, state.outputs),
            wrap_mul(macs, state.macs)};
  }
};

// A directive with several states, each with its part in a case.
struct Wheel {
  std::array<Case, 3> state;
  int count = 0;

  void add(const Case& next) { state[count++] = next; }
};

// All combinations of the states of a level's directives, in the binary's order (S5.3): case c has
// state ceil(c / w) mod length of each directive, so a wheel turns when the next inner one leaves
// Init.
class Odometer {
 public:
  // More cases than this are refused with `overflow`: the binary would run for hours.
  static constexpr std::int64_t kMaxCases = 1 << 22;

  // No wheels: `fixed` is what the directives with one state come to.
  void start(const Case& fixed) {
    cases_ = 1;
    counted_ = 1;
    count_ = 0;
    so_far_[0] = fixed;
  }
  // Adds the next inner directive; `wheel` must outlive the odometer's use.
  void add(const Wheel& wheel);

  // How many cases there are, `overflow` if too many.
  Status size(std::int64_t& cases) const;

  const Case& now() const { return so_far_[count_]; }
  void advance();

 private:
  // Every wheel has two states or more.
  static constexpr int kMaxWheels = 22;

  std::int64_t cases_ = 1;    // or more than kMaxCases
  std::int32_t counted_ = 1;  // as the binary counts them
  int count_ = 0;
  std::array<const Wheel*, kMaxWheels> wheels_{};
  std::array<std::int32_t, kMaxWheels> stands_{};
  std::array<Case, kMaxWheels + 1> so_far_;  // [i]: of the wheels outside wheel i
};

}  // namespace gym::maestro
