#include "proposer.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace gym::prior {

// The mappings to draw, and by what.
struct Proposer::Draws {
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

// So many nodes, each of about a kilobyte, are kept.
constexpr std::size_t kMostNodes = 1 << 15;

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

void Proposer::propose(std::shared_ptr<const Networks> networks, const double* uniforms,
                       std::int64_t count, float temperature, std::int32_t* points,
                       double* logarithms) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
  if (count == 0) return;
  if (tree_.networks != networks) {
    tree_ = {networks, networks->read(context_), 0, nullptr};
    tree_.root = grow(0, decisions_.begin());
  }
  descend({uniforms, temperature, points, logarithms}, *tree_.root, 0, all);
}

// Goes on to the next decision that leaves a choice, and scores its options.
std::unique_ptr<Proposer::Node> Proposer::grow(std::size_t at, Partial partial) {
  Options options;
  at = decisions_.advance(at, partial, options);
  auto node = std::make_unique<Node>(Node{at, std::move(partial), {}, {}, {}, {}, 0, 0});
  if (at == steps()) return node;
  const Step& step = decisions_.steps()[at];
  const auto count = static_cast<std::size_t>(options.count);
  std::array<float, kStateSize> state;
  node->values.assign(options.value.begin(), options.value.begin() + options.count);
  node->scores.resize(count);
  node->next.resize(count);
  decisions_.describe(step, node->partial, options, state.data());
  tree_.networks->score(step.decision, tree_.context, state.data(), options, node->scores.data());
  return node;
}

void Proposer::Node::share(float by_temperature) {
  if (temperature == by_temperature) return;
  temperature = by_temperature;
  total = 0;
  shares = scores;
  const float most = *std::max_element(scores.begin(), scores.end());
  for (float& share : shares) total += share = exp_of((share - most) / temperature);
}

// Mappings that have made the same decisions are taken on together.
void Proposer::descend(const Draws& draws, Node& node, double logarithm,
                       const std::vector<std::int64_t>& members) {
  if (node.at == steps()) {
    const std::vector<std::int32_t>& point = node.partial.point;
    for (const std::int64_t member : members) {
      std::copy(point.begin(), point.end(), draws.points + member * std::ssize(point));
      draws.logarithms[member] = logarithm;
    }
    return;
  }
  const bool greedy = draws.temperature == 0;
  node.share(greedy ? 1 : draws.temperature);
  const std::vector<float>& shares = node.shares;
  std::vector<std::vector<std::int64_t>> taken(shares.size());
  if (greedy) {
    const auto best = std::max_element(node.scores.begin(), node.scores.end());
    taken[static_cast<std::size_t>(best - node.scores.begin())] = members;
  } else {
    for (const std::int64_t member : members) {
      const double uniform = draws.uniforms[static_cast<std::size_t>(member) * steps() + node.at];
      const float wanted = static_cast<float>(uniform) * node.total;
      taken[static_cast<std::size_t>(where(shares, wanted))].push_back(member);
    }
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i].empty()) continue;
    std::unique_ptr<Node> fresh;
    std::unique_ptr<Node>& next = tree_.nodes < kMostNodes ? node.next[i] : fresh;
    if (!node.next[i]) {
      Partial partial = node.partial;
      decisions_.take(decisions_.steps()[node.at], node.values[i], partial);
      next = grow(node.at + 1, std::move(partial));
      ++tree_.nodes;
    }
    const double chance = static_cast<double>(shares[i]) / static_cast<double>(node.total);
    descend(draws, node.next[i] ? *node.next[i] : *fresh,
            logarithm + kLn2 * static_cast<double>(log2_of(chance)), taken[i]);
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
