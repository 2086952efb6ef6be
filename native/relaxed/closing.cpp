// Which words have not moved yet, and what it costs that loops move them.
#include <algorithm>

#include "program.hpp"

namespace gym::relaxed {

// For all that is open somewhere.
Program::Closing Program::closing_at(int memory) const {
  Closing found;
  for (const auto& [open, costs] : tables_) {
    for (const TensorId t : {kInput, kFilter, kOutput}) {
      const Open own = only(open, of_tensor(t));
      if (own.any() != 0 && !found.contains(own)) found[own] = closing(t, own, memory);
    }
  }
  return found;
}

Table Program::closing(TensorId tensor, const Open& open, int memory) const {
  const double rests = resting_[tensor][static_cast<std::size_t>(memory)];
  const double rested = open.part == 0 ? 0 : resting_[tensor][open.since[tensor] - 1U];
  Table found(static_cast<std::size_t>(grid_.states()));
  for (std::size_t b = 0; b < boundaries(); ++b) {
    if ((open.whole >> b & 1) != 0) relaxed::add(found, charges_.closed(b, memory, rests));
    if ((open.part >> b & 1) == 0 || rested <= rests) continue;
    relaxed::add(found, charges_.moved_later(b, memory, rested - rests));
  }
  return found;
}

// What is left of some boundaries when loops of a memory have moved their tensors.
Program::Open Program::left_of(const Open& open, int memory) const {
  Open found;
  for (const TensorId t : {kInput, kFilter, kOutput}) {
    const Bits bits = open.any() & of_tensor(t);
    const double rests = resting_[t][static_cast<std::size_t>(memory)];
    if (bits == 0 || rests == 0) continue;
    found.part |= bits;
    const std::uint8_t since = open.since[t];
    const bool less = since > 0 && resting_[t][since - 1U] < rests;
    found.since[t] = less ? since : static_cast<std::uint8_t>(memory + 1);
  }
  return found;
}

Program::Open Program::only(const Open& open, Bits bits) const {
  Open found{open.whole & bits, open.part & bits, {}};
  for (const TensorId t : {kInput, kFilter, kOutput}) {
    if ((found.part & of_tensor(t)) != 0) found.since[t] = open.since[t];
  }
  return found;
}

// Of different tensors.
Program::Open Program::both(Open open, const Open& other) {
  open.whole |= other.whole;
  open.part |= other.part;
  for (const TensorId t : {kInput, kFilter, kOutput}) {
    open.since[t] = std::max(open.since[t], other.since[t]);
  }
  return open;
}

void Program::close(Costs& costs, const Open& open, const Closing& closing) const {
  for (const TensorId t : {kInput, kFilter, kOutput}) {
    const Open own = only(open, of_tensor(t));
    if (own.any() != 0) relaxed::add(costs.cost, closing.at(own));
  }
}

Program::Bits Program::of_tensor(TensorId tensor) const {
  Bits bits = 0;
  for (std::size_t b = 0; b < boundaries(); ++b) {
    if (problem_.boundaries[b].tensor == tensor) bits |= Bits{1} << b;
  }
  return bits;
}

}  // namespace gym::relaxed
