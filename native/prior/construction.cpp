#include "construction.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace gym::prior {

Construction::Construction(Grounds grounds, std::int64_t count)
    : grounds_(std::move(grounds)), copies_(static_cast<std::size_t>(count)) {
  if (grounds_.empty()) throw std::invalid_argument("copies need a ground");
  for (const auto& each : grounds_) {
    if (each->context().size() != grounds_[0]->context().size() ||
        each->space().parameters.size() != grounds_[0]->space().parameters.size()) {
      throw std::invalid_argument("grounds have different parameters");
    }
  }
}

std::int64_t Construction::seen_width() const {
  return std::ssize(grounds_[0]->context()) + kDecisions + kStateSize + kMaxOptions * kFeatures;
}

void Construction::see(std::int64_t copy, float* to) const {
  const Copy& from = of(copy);
  const std::vector<float>& context = from.ground->context();
  float* next = std::copy(context.begin(), context.end(), to);
  std::fill(next, to + seen_width(), 0.0F);
  if (from.options.count == 0) return;
  next[from.ground->decisions().steps()[from.at].decision] = 1;
  next = std::copy(from.state.begin(), from.state.end(), next + kDecisions);
  const float* first = from.options.features[0].data();
  std::copy(first, first + from.options.count * kFeatures, next);
}

void Construction::begin(std::int64_t copy, std::int64_t ground) {
  Copy& begun = copies_[static_cast<std::size_t>(copy)];
  begun.ground = grounds_[static_cast<std::size_t>(ground)].get();
  begun.at = 0;
  begun.partial = begun.ground->decisions().begin();
  advance(begun);
}

void Construction::choose(std::int64_t copy, std::int64_t option) {
  Copy& chosen = copies_[static_cast<std::size_t>(copy)];
  if (chosen.options.count == 0) return;
  Decisions& decisions = chosen.ground->decisions();
  const auto taken = static_cast<std::size_t>(option % chosen.options.count);
  decisions.take(decisions.steps()[chosen.at], chosen.options.value[taken], chosen.partial);
  ++chosen.at;
  advance(chosen);
}

void Construction::advance(Copy& copy) const {
  Decisions& decisions = copy.ground->decisions();
  copy.at = decisions.advance(copy.at, copy.partial, copy.options);
  if (copy.options.count == 0) return;
  decisions.describe(decisions.steps()[copy.at], copy.partial, copy.options, copy.state.data());
}

}  // namespace gym::prior
