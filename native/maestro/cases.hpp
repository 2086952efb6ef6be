// Iteration cases: the few kinds of steps a level's loops go through (S5).
#pragma once

#include <algorithm>
#include <array>

#include "../core/integers.hpp"
#include "level.hpp"

namespace gym::maestro {

using LoopStates = BasicStates<Count>;

// Which loops stand at an edge. Bit k: the k-th spatial directive, at Edge; kMaxSpatial further: it
// has the second of its extents; above them, by Level::remainder_bit, every dimension at an edge.
using Edges = std::uint64_t;

constexpr Edges spatial_edge(int k) { return Edges{1} << k; }
constexpr Edges second_extent(int k) { return Edges{1} << (kMaxSpatial + k); }
constexpr Edges dimension_edge(std::uint32_t remainder_bit) {
  return Edges{remainder_bit} << (2 * kMaxSpatial);
}
constexpr std::uint32_t remainders_of(Edges edges) {
  return static_cast<std::uint32_t>(edges >> (2 * kMaxSpatial));
}
inline constexpr Edges kSpatialEdges = dimension_edge(1) - 1;

// What the states of all loops of a case come to, or the part one state has in it.
struct Case {
  std::int32_t occurrences = 1;  // may wrap around
  std::int32_t moving = 0;  // 1 + the index of the innermost directive that has left Init, or 0
  Edges edges = 0;

  // `state` is of a directive inside those of this case.
  Case with(const Case& state) const {
    return {static_cast<std::int32_t>(static_cast<std::uint32_t>(occurrences) *
                                      static_cast<std::uint32_t>(state.occurrences)),
            std::max(moving, state.moving), edges | state.edges};
  }
};

// A directive's states, each with its part in a case.
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

  void clear() {
    counted_ = 1;
    count_ = 0;
  }
  // Adds the next inner directive, if it has several states; `wheel` must outlive the odometer's
  // use.
  void add(const Wheel& wheel) {
    counted_ *= static_cast<std::uint32_t>(wheel.count);
    wheels_[count_].first = &wheel.state[0];
    wheels_[count_].end = &wheel.state[0] + wheel.count;
    count_ = std::min(count_ + (wheel.count > 1 ? 1 : 0), kMaxWheels);
  }
  // The wheels added, by number: their states.
  int count() const { return count_; }
  const Case& second_state(int wheel) const { return wheels_[wheel].first[1]; }

  // Shows the first case, all loops at Init and these at an edge: `overflow` if there are too many.
  Status start(Edges edges, std::int64_t& cases) {
    static constexpr Case kNothing{};
    cases = 1;
    inner_ = std::max(count_ - 1, 0);
    wheels_[inner_].now = &kNothing;
    for (int i = 0; i < count_; ++i) {
      wheels_[i].now = wheels_[i].first;
      cases = std::min(cases * (wheels_[i].end - wheels_[i].first), kMaxCases + 1);
    }
    for (int i = 0; i <= inner_; ++i) outside_[i] = {1, 0, edges};
    // More cases than an int counts: the binary runs none.
    if (static_cast<std::int32_t>(counted_) <= 0) cases = 0;
    return cases > kMaxCases ? Status::overflow : Status::ok;
  }

  Case now() const { return outside_[inner_].with(*wheels_[inner_].now); }

  void advance() {
    if (turn(wheels_[inner_]) && inner_ > 0) carry();
  }

 private:
  struct Turning {
    const Case* now;
    const Case* first;
    const Case* end;
  };

  // Whether the wheel has left Init.
  static bool turn(Turning& wheel) {
    if (++wheel.now == wheel.end) wheel.now = wheel.first;
    return wheel.now == wheel.first + 1;
  }

  // Turns the wheels outside the innermost.
  void carry() {
    int i = inner_;
    while (turn(wheels_[--i]) && i > 0) continue;
    for (; i < inner_; ++i) outside_[i + 1] = outside_[i].with(*wheels_[i].now);
  }

  // Each has two states or more: with one more than these, or as many, there are too many cases.
  static constexpr int kMaxWheels = 23;

  std::uint32_t counted_ = 1;  // cases as the binary counts them, in a C int
  int count_ = 0;
  int inner_ = 0;                                 // the innermost wheel
  std::array<Turning, kMaxWheels + 1> wheels_{};  // and room for one that does not count
  std::array<Case, kMaxWheels + 1> outside_;      // [i]: of the wheels outside wheel i
};

}  // namespace gym::maestro
