#include "stateless.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "../core/numpy_order.hpp"
#include "../core/processors.hpp"

namespace gym::agents {

namespace {

// A step of Adam with its usual constants, along the gradient.
GYM_FOR_EACH_PROCESSOR
void ascend(const double* gradient, std::size_t count, double rate, int steps, double* mean,
            double* square, double* weights) {
  const double of_mean = 1 - std::pow(0.9, steps);
  const double of_square = 1 - std::pow(0.999, steps);
  for (std::size_t i = 0; i < count; ++i) {
    mean[i] += (gradient[i] - mean[i]) * 0.1;
    square[i] += (gradient[i] * gradient[i] - square[i]) * 0.001;
    weights[i] += mean[i] / of_mean * rate / (std::sqrt(square[i] / of_square) + 1e-8);
  }
}

// Several numbers are compared side by side.
GYM_FOR_EACH_PROCESSOR
double greatest(const double* numbers, std::size_t count) {
  constexpr std::size_t kLanes = 16;
  double most[kLanes];
  std::fill_n(most, kLanes, numbers[0]);
  const std::size_t whole = count - count % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) {
      most[k] = most[k] > numbers[i + k] ? most[k] : numbers[i + k];
    }
  }
  for (std::size_t i = whole; i < count; ++i) most[0] = std::max(most[0], numbers[i]);
  return *std::max_element(most, most + kLanes);
}

// Writes numbers less another one to two places.
GYM_FOR_EACH_PROCESSOR
void subtract(double number, std::size_t count, double* from, double* copy) {
  for (std::size_t i = 0; i < count; ++i) copy[i] = from[i] -= number;
}

GYM_FOR_EACH_PROCESSOR
void subtract_product(const double* numbers, double factor, std::size_t count, double* from) {
  for (std::size_t i = 0; i < count; ++i) from[i] -= numbers[i] * factor;
}

GYM_FOR_EACH_PROCESSOR
void add_differences(double factor, const double* numbers, const double* others, std::size_t count,
                     double* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += factor * (numbers[i] - others[i]);
}

// Rewards with mean 0 and deviation 1.
std::vector<double> normalised(const double* rewards, std::size_t count) {
  const auto number = static_cast<double>(count);
  const double mean = pairwise_sum(rewards, count) / number;
  std::vector<double> centred(count), squares(count);
  for (std::size_t n = 0; n < count; ++n) {
    centred[n] = rewards[n] - mean;
    squares[n] = centred[n] * centred[n];
  }
  const double deviation = std::sqrt(pairwise_sum(squares.data(), count) / number) + 1e-8;
  for (double& each : centred) each /= deviation;
  return centred;
}

}  // namespace

Stateless::Stateless(std::vector<std::int64_t> counts, std::vector<std::size_t> owners,
                     std::size_t agents, std::vector<double> bias, std::vector<Features> features,
                     const Rule& rule, Functions functions)
    : counts_(std::move(counts)),
      owners_(std::move(owners)),
      starts_{0},
      agents_(agents),
      bias_(std::move(bias)),
      features_(std::move(features)),
      rule_(rule),
      functions_(std::move(functions)) {
  for (const std::int64_t count : counts_) {
    starts_.push_back(starts_.back() + static_cast<std::size_t>(count));
  }
  std::size_t size = bias_.size();
  for (const Features& each : features_) size += each.width();
  for (auto* each : {&weights_, &gradient_, &mean_, &square_}) each->resize(size);
  for (auto* each : {&logarithms_, &chances_}) each->resize(bias_.size());
  see();
}

void Stateless::draw(const double* uniform, std::size_t rows, std::int64_t* actions) const {
  std::vector<double> cumulated(chances_.size());
  for (std::size_t head = 0; head < heads(); ++head) {
    const double* first = &cumulated[starts_[head]];
    double sum = 0;
    for (std::size_t l = starts_[head]; l < starts_[head + 1]; ++l)
      cumulated[l] = sum += chances_[l];
    // Rounding may lead beyond the last choice.
    const double* last = first + counts_[head] - 1;
    for (std::size_t i = head; i < rows * heads(); i += heads()) {
      actions[i] = std::upper_bound(first, last, uniform[i] * sum) - first;
    }
  }
}

void Stateless::learn(Actions actions, const double* rewards, Actions best) {
  const std::vector<double> advantages = normalised(rewards, actions.rows);
  std::vector<double> imitated;
  if (best.rows > 0 && rule_.imitation != 0) {
    imitated.resize(bias_.size());
    for (std::size_t n = 0; n < best.rows; ++n) {
      const std::int64_t* row = best.first + n * heads();
      for (std::size_t head = 0; head < heads(); ++head) ++imitated[at(head, row)];
    }
    for (double& each : imitated) each /= static_cast<double>(best.rows);
  }
  const std::vector<double> before = of_actions(actions);
  for (int epoch = 0; epoch < rule_.epochs; ++epoch) {
    std::vector<double> change = epoch > 0 ? of_actions(actions) : before;
    for (std::size_t i = 0; i < change.size(); ++i) change[i] -= before[i];
    set_gradient(actions, pull(std::move(change), advantages), imitated);
    ++steps_;
    ascend(gradient_.data(), gradient_.size(), rule_.rate, steps_, mean_.data(), square_.data(),
           weights_.data());
    see();
  }
}

// Computes chances and their logarithms from the weights.
void Stateless::see() {
  const double* shared = &weights_[bias_.size()];
  for (std::size_t head = 0; head < heads(); ++head) {
    const std::size_t start = starts_[head];
    const std::size_t count = starts_[head + 1] - start;
    double* logits = &logarithms_[start];
    for (std::size_t c = 0; c < count; ++c) logits[c] = bias_[start + c] + weights_[start + c];
    features_[head].add_of_features(shared, logits);
    shared += features_[head].width();
    subtract(greatest(logits, count), count, logits, &chances_[start]);
  }
  functions_.exp(chances_.data(), chances_.size());
  std::vector<double> sums(heads());
  for (std::size_t head = 0; head < heads(); ++head) {
    sums[head] = reduced_sum(&chances_[starts_[head]], starts_[head + 1] - starts_[head]);
  }
  functions_.log(sums.data(), heads());
  for (std::size_t head = 0; head < heads(); ++head) {
    const std::size_t start = starts_[head];
    subtract(sums[head], starts_[head + 1] - start, &logarithms_[start], &chances_[start]);
  }
  functions_.exp(chances_.data(), chances_.size());
}

// The index of the choice of an action.
std::size_t Stateless::at(std::size_t head, const std::int64_t* row) const {
  return starts_[head] + static_cast<std::size_t>(row[head]);
}

// The logarithm of the chance of each agent's actions, in rows.
std::vector<double> Stateless::of_actions(Actions actions) const {
  std::vector<double> chosen, sums(actions.rows * agents_);
  chosen.reserve(actions.rows * heads());
  for (std::size_t n = 0; n < actions.rows; ++n) {
    const std::int64_t* row = actions.first + n * heads();
    for (std::size_t head = 0; head < heads(); ++head) {
      chosen.push_back(logarithms_[at(head, row)]);
    }
  }
  functions_.of_agents(chosen.data(), actions.rows, sums.data());
  return sums;
}

// The clipped surrogate's gradient by each agent's log-probability, agent by agent. `change` is the
// logarithm of every agent's ratio, row by row.
std::vector<double> Stateless::pull(std::vector<double> change,
                                    const std::vector<double>& advantages) const {
  const std::size_t rows = advantages.size();
  for (double& each : change) each = std::min(each, rule_.most_change);
  functions_.exp(change.data(), change.size());
  std::vector<double> pulls(change.size());
  for (std::size_t n = 0; n < rows; ++n) {
    for (std::size_t agent = 0; agent < agents_; ++agent) {
      const double ratio = change[n * agents_ + agent];
      const bool free = advantages[n] >= 0 ? ratio < 1 + rule_.clip : ratio > 1 - rule_.clip;
      pulls[agent * rows + n] = free ? advantages[n] * ratio / static_cast<double>(rows) : 0;
    }
  }
  return pulls;
}

void Stateless::set_gradient(Actions actions, const std::vector<double>& pulls,
                             const std::vector<double>& imitated) {
  std::fill(gradient_.begin(), gradient_.end(), 0.0);
  for (std::size_t n = 0; n < actions.rows; ++n) {
    const std::int64_t* row = actions.first + n * heads();
    for (std::size_t head = 0; head < heads(); ++head) {
      gradient_[at(head, row)] += pulls[owners_[head] * actions.rows + n];
    }
  }
  for (std::size_t head = 0; head < heads(); ++head) {
    const std::size_t start = starts_[head];
    const double sum = pairwise_sum(&pulls[owners_[head] * actions.rows], actions.rows);
    subtract_product(&chances_[start], sum, starts_[head + 1] - start, &gradient_[start]);
    if (rule_.entropy != 0) add_entropy(head);
  }
  add_differences(rule_.imitation, imitated.data(), chances_.data(), imitated.size(),
                  gradient_.data());
  double* shared = &gradient_[bias_.size()];
  for (std::size_t head = 0; head < heads(); ++head) {
    features_[head].sum_of_choices(&gradient_[starts_[head]], shared);
    shared += features_[head].width();
  }
}

// Adds the gradient of the entropy bonus by the logits of a head.
void Stateless::add_entropy(std::size_t head) {
  const std::size_t start = starts_[head];
  const std::size_t count = starts_[head + 1] - start;
  std::vector<double> surprise(count);
  for (std::size_t c = 0; c < count; ++c) {
    surprise[c] = chances_[start + c] * logarithms_[start + c];
  }
  const double entropy = -reduced_sum(surprise.data(), count);
  for (std::size_t c = 0; c < count; ++c) {
    gradient_[start + c] -= rule_.entropy * (surprise[c] + chances_[start + c] * entropy);
  }
}

}  // namespace gym::agents
