#include "proposer.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace gym::prior {

// The mappings to draw, and by what.
struct Proposer::Draws {
  const Networks& networks;
  std::vector<float> context;
  const double* uniforms;
  float temperature;
  std::int32_t* points;
  double* logarithms;
};

namespace {

LoopNest nest_of(const Layer& layer) {
  const auto nest = loop_nest(layer);
  if (!nest) throw std::invalid_argument("no loop nest");
  return *nest;
}

constexpr double kLn2 = 0.6931471805599453;

// The option where the sum of shares exceeds a number.
int where(const std::vector<float>& shares, float number) {
  float sum = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    sum += shares[i];
    if (number < sum) return static_cast<int>(i);
  }
  return static_cast<int>(shares.size()) - 1;
}

}  // namespace

Proposer::Proposer(std::unique_ptr<Model> model, MapSpace space, const Layer& layer,
                   const Hardware& hardware, std::vector<float> context)
    : masks_(std::move(model), std::move(space)),
      decisions_(nest_of(layer), layer.op, hardware, masks_),
      context_(std::move(context)) {
  if (masks_.none()) throw std::invalid_argument("no mapping of this space fits the buffers");
}

void Proposer::propose(const Networks& networks, const double* uniforms, std::int64_t count,
                       float temperature, std::int32_t* points, double* logarithms) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
  if (count == 0) return;
  descend({networks, networks.read(context_), uniforms, temperature, points, logarithms}, 0,
          decisions_.begin(), 0, all);
}

// Mappings that have made the same decisions are taken on together.
void Proposer::descend(const Draws& draws, std::size_t at, const Partial& partial, double logarithm,
                       const std::vector<std::int64_t>& members) {
  Options options;
  Partial current = partial;
  for (; at < steps(); ++at) {
    decisions_.list(decisions_.steps()[at], current, options);
    if (options.count > 1) break;
    if (options.count == 1) decisions_.take(decisions_.steps()[at], options.value[0], current);
  }
  if (at == steps()) {
    decisions_.finish(current);
    for (const std::int64_t member : members) {
      std::copy(current.point.begin(), current.point.end(),
                draws.points + member * std::ssize(current.point));
      draws.logarithms[member] = logarithm;
    }
    return;
  }
  const Step& step = decisions_.steps()[at];
  std::array<float, kStateSize> state;
  std::vector<float> shares(static_cast<std::size_t>(options.count));
  decisions_.describe(step, current, options, state.data());
  draws.networks.score(step.decision, draws.context, state.data(), options, shares.data());
  const bool greedy = draws.temperature == 0;
  const auto best = std::max_element(shares.begin(), shares.end());
  const float most = *best;
  float total = 0;
  for (float& share : shares) {
    share = exp_of((share - most) / (greedy ? 1 : draws.temperature));
    total += share;
  }
  std::vector<std::vector<std::int64_t>> taken(shares.size());
  if (greedy) {
    taken[static_cast<std::size_t>(best - shares.begin())] = members;
  } else {
    for (const std::int64_t member : members) {
      const double uniform = draws.uniforms[static_cast<std::size_t>(member) * steps() + at];
      const float wanted = static_cast<float>(uniform) * total;
      taken[static_cast<std::size_t>(where(shares, wanted))].push_back(member);
    }
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i].empty()) continue;
    Partial next = current;
    decisions_.take(step, options.value[i], next);
    const double chance = static_cast<double>(shares[i]) / static_cast<double>(total);
    descend(draws, at + 1, next, logarithm + kLn2 * static_cast<double>(log2_of(chance)), taken[i]);
  }
}

Rows Proposer::trace(std::int32_t* points, std::int64_t count) {
  Rows rows;
  Options options;
  const auto width = std::ssize(space().parameters);
  for (std::int64_t i = 0; i < count; ++i) {
    Partial partial = decisions_.begin();
    for (const Step& step : decisions_.steps()) {
      decisions_.list(step, partial, options);
      if (options.count == 0) continue;
      const int chosen = decisions_.chosen(step, partial, points + i * width, options);
      if (options.count > 1) {
        rows.states.resize(rows.states.size() + kStateSize);
        decisions_.describe(step, partial, options, &rows.states.back() + 1 - kStateSize);
        rows.mapping.push_back(static_cast<std::int32_t>(i));
        rows.decision.push_back(step.decision);
        rows.chosen.push_back(chosen);
        rows.options.push_back(options.count);
        const float* first = options.features[0].data();
        rows.features.insert(rows.features.end(), first, first + options.count * kFeatures);
      }
      decisions_.take(step, options.value[static_cast<std::size_t>(chosen)], partial);
    }
    decisions_.finish(partial);
    std::copy(partial.point.begin(), partial.point.end(), points + i * width);
  }
  return rows;
}

}  // namespace gym::prior
