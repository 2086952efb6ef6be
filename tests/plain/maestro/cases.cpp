#include "cases.hpp"

#include <algorithm>

#include "../integers.hpp"

namespace gym::maestro {

namespace {

using Position = LoopState::Position;

// S5.1
LoopStates temporal_states(std::int32_t extent, std::int32_t size, std::int32_t offset) {
  LoopStates states;
  states.add({Position::init, 1, extent <= size, extent < size, false});
  const std::int64_t steps = std::int64_t{wrap32(std::int64_t{extent} - size)} / offset;
  if (size < extent && steps > 0) {
    states.add({Position::steady, wrap32(steps), false, false, false});
  }
  if (extent >= size && wrap32(steps * offset + size) < extent) {
    states.add({Position::edge, 1, false, true, false});
  }
  return states;
}

// S5.2
LoopStates spatial_states(std::int32_t extent, std::int32_t size, std::int32_t offset,
                          std::int32_t units) {
  LoopStates states;
  const std::int32_t reach = wrap32(size + std::int64_t{offset} * wrap32(std::int64_t{units} - 1));
  states.add({Position::init, 1, extent <= reach, extent < reach, extent < reach});
  const std::int64_t steps =
      (std::int64_t{wrap32(std::int64_t{extent} - size)} / offset + 1) / units - 1;
  if (reach < extent && steps > 0) {
    states.add({Position::steady, wrap32(steps), false, false, false});
  }
  const std::int64_t round = wrap32(std::int64_t{offset} * units);
  if (extent > reach && wrap32(wrap_mul(steps + 1, round) + reach) > extent &&
      wrap32(wrap_mul(steps, round) + reach) != extent) {
    const std::int64_t rest = wrap32(extent - wrap_mul(steps + 1, round));
    const std::int64_t busy = rest < size ? 1 : std::int64_t{wrap32(rest - size)} / offset + 1;
    states.add({Position::edge, 1, false, true, wrap32((busy - 1) * offset + size) < rest});
  }
  return states;
}

}  // namespace

LoopStates loop_states(const LevelDirective& directive, std::int32_t extent, std::int32_t units) {
  return directive.spatial ? spatial_states(extent, directive.size, directive.offset, units)
                           : temporal_states(extent, directive.size, directive.offset);
}

Status Cases::enumerate(const Level& level, const std::array<std::int32_t, kMaxDims>& extent) {
  const std::size_t loops = level.directives.size();
  states_.resize(loops);
  weight_.resize(loops);
  chosen_.resize(loops);
  selected_.resize(loops);
  size_ = 1;
  for (std::size_t i = loops; i-- > 0;) {
    const LevelDirective& directive = level.directives[i];
    states_[i] = loop_states(directive, extent[directive.dim], level.units);
    weight_[i] = size_;
    size_ = wrap32(size_ * states_[i].count);
  }
  // More cases than an int counts: the binary runs none.
  size_ = std::max<std::int64_t>(size_, 0);
  return size_ > kMaxCases ? Status::overflow : Status::ok;
}

void Cases::choose(std::int64_t index) {
  occurrences_ = 1;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const std::int64_t step = (index + weight_[i] - 1) / weight_[i];
    chosen_[i] = &states_[i].state[step % states_[i].count];
    occurrences_ = wrap32(std::int64_t{occurrences_} * chosen_[i]->count);
  }
}

void Cases::select(const Level& level, std::int64_t index) {
  choose(index);
  moving_ = -1;
  for (int i = 0; i < static_cast<int>(selected_.size()); ++i) {
    selected_[i] = chosen_[level.last[level.directives[i].dim]];
    if (selected_[i]->position != Position::init) moving_ = i;
  }
}

}  // namespace gym::maestro
