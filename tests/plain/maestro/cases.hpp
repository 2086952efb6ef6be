// Iteration cases: the few kinds of steps a level's loops go through (S5).
#pragma once

#include <array>
#include <vector>

#include "level.hpp"

namespace gym::maestro {

struct LoopState {
  enum class Position : std::uint8_t { init, steady, edge };

  Position position = Position::init;
  std::int32_t count = 1;
  bool unrolled = false;
  bool edge = false;
  bool ragged = false;
};

// The states one directive goes through, in order; at most one of each position.
struct LoopStates {
  std::array<LoopState, 3> state;
  int count = 0;

  void add(LoopState next) { state[count++] = next; }
};

LoopStates loop_states(const LevelDirective& directive, std::int32_t extent, std::int32_t units);

// All combinations of the states of a level's directives, in the binary's order.
class Cases {
 public:
  // More cases than this are refused with `overflow`: the binary would run for hours.
  static constexpr std::int64_t kMaxCases = 1 << 22;

  // `extent` holds the actual extent of every dimension.
  Status enumerate(const Level& level, const std::array<std::int32_t, kMaxDims>& extent);

  std::int64_t size() const { return size_; }

  // Selects a case; `state(i)` and `occurrences()` then speak of it. Occurrences may wrap around.
  void select(const Level& level, std::int64_t index);

  // The state of directive i. Directives of one dimension share the state of the last of them.
  const LoopState& state(int i) const { return *selected_[i]; }
  std::int32_t occurrences() const { return occurrences_; }
  // The largest directive index whose loop has left its first position, or -1.
  int moving() const { return moving_; }

 private:
  void choose(std::int64_t index);

  std::vector<LoopStates> states_;
  std::vector<std::int64_t> weight_;
  std::vector<const LoopState*> chosen_;
  std::vector<const LoopState*> selected_;
  std::int64_t size_ = 0;
  std::int32_t occurrences_ = 0;
  int moving_ = -1;
};

}  // namespace gym::maestro
