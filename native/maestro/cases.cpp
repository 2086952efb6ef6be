#include "cases.hpp"

namespace gym::maestro {

namespace {

// S5.1
LoopStates temporal_states(std::int32_t extent, std::int32_t size, std::int32_t offset) {
  LoopStates states;
  states.unrolled = extent <= size;
  states.partial = extent < size;
  if (states.partial) return states;
  const std::int64_t steps = std::int64_t{wrap32(std::int64_t{extent} - size)} / offset;
  if (size < extent && steps > 0) states.steady = wrap32(steps);
  states.edge = wrap32(steps * offset + size) < extent;
  return states;
}

// S5.2
LoopStates spatial_states(std::int32_t extent, std::int32_t size, std::int32_t offset,
                          std::int32_t units) {
  LoopStates states;
  const std::int32_t reach = wrap32(size + std::int64_t{offset} * wrap32(std::int64_t{units} - 1));
  states.unrolled = extent <= reach;
  states.partial = states.ragged = extent < reach;
  if (states.unrolled) return states;
  const std::int64_t steps =
      (std::int64_t{wrap32(std::int64_t{extent} - size)} / offset + 1) / units - 1;
  if (steps > 0) states.steady = wrap32(steps);
  const std::int64_t round = wrap32(std::int64_t{offset} * units);
  if (wrap32(wrap_mul(steps + 1, round) + reach) > extent &&
      wrap32(wrap_mul(steps, round) + reach) != extent) {
    const std::int64_t rest = wrap32(extent - wrap_mul(steps + 1, round));
    const std::int64_t busy = rest < size ? 1 : std::int64_t{wrap32(rest - size)} / offset + 1;
    states.edge = true;
    states.ragged = wrap32((busy - 1) * offset + size) < rest;
  }
  return states;
}

}  // namespace

LoopStates loop_states(const LevelDirective& directive, std::int32_t extent, std::int32_t units) {
  return directive.spatial ? spatial_states(extent, directive.size, directive.offset, units)
                           : temporal_states(extent, directive.size, directive.offset);
}

}  // namespace gym::maestro
