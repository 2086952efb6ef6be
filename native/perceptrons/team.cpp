#include "team.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "../core/elementary.hpp"
#include "../core/processors.hpp"
#include "products.hpp"

namespace gym::perceptrons {

namespace {

constexpr std::size_t kHidden = Team::kHidden;
// Adam's usual constants.
constexpr float kMean = 0.9F;
constexpr float kSquare = 0.999F;
constexpr float kLeast = 1e-8F;
// Logarithms of chances are not below: their exponential is 0 anyway.
constexpr float kLowest = -80.0F;

Weights weights_of(std::size_t count, const float* first = nullptr) {
  Weights weights{std::vector<float>(count), std::vector<float>(count), std::vector<float>(count),
                  std::vector<float>(count)};
  if (first != nullptr) std::copy_n(first, count, weights.now.begin());
  return weights;
}

GYM_FOR_EACH_PROCESSOR
void to_tanh(float* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = tanh_of(numbers[i]);
}

// Errors of what a tanh layer takes, from those of what it gives.
GYM_FOR_EACH_PROCESSOR
void through_tanh(const float* given, std::size_t count, float* errors) {
  for (std::size_t i = 0; i < count; ++i) errors[i] *= 1.0F - given[i] * given[i];
}

// Makes logarithms of chances of the logits of a head, side by side for rows of lanes.
GYM_FOR_EACH_PROCESSOR
void to_logarithms(float* logits, std::size_t choices, std::size_t lanes, float* most, float* sums,
                   float* chances) {
  std::copy_n(logits, lanes, most);
  for (std::size_t c = 1; c < choices; ++c) {
    for (std::size_t n = 0; n < lanes; ++n) {
      const float logit = logits[c * lanes + n];
      most[n] = most[n] > logit ? most[n] : logit;
    }
  }
  std::fill_n(sums, lanes, 0.0F);
  for (std::size_t c = 0; c < choices; ++c) {
    for (std::size_t n = 0; n < lanes; ++n) {
      const float power = logits[c * lanes + n] - most[n];
      const float chance = fast_exp(power > kLowest ? power : kLowest);
      chances[c * lanes + n] = chance;
      sums[n] += chance;
    }
  }
  for (std::size_t n = 0; n < lanes; ++n) {
    most[n] += 0.69314718F * log2_of(static_cast<double>(sums[n]));
    sums[n] = 1.0F / sums[n];
  }
  for (std::size_t c = 0; c < choices; ++c) {
    for (std::size_t n = 0; n < lanes; ++n) {
      logits[c * lanes + n] -= most[n];
      chances[c * lanes + n] *= sums[n];
    }
  }
}

// Errors of a head's logits, but for what its action adds: PPO's pull, entropy and imitation.
GYM_FOR_EACH_PROCESSOR
void errors_of(const float* logarithms, const float* chances, std::size_t choices,
               std::size_t lanes, const float* pull, float entropy, const float* imitated,
               float imitation, const float* entropies, float* errors) {
  for (std::size_t c = 0; c < choices; ++c) {
    const float share = imitated == nullptr ? 0.0F : imitation * imitated[c];
    for (std::size_t n = 0; n < lanes; ++n) {
      const std::size_t at = c * lanes + n;
      const float pulled = pull[n] + imitation + entropy * (logarithms[at] + entropies[n]);
      errors[at] = chances[at] * pulled - share;
    }
  }
}

GYM_FOR_EACH_PROCESSOR
void entropies_of(const float* logarithms, const float* chances, std::size_t choices,
                  std::size_t lanes, float* entropies) {
  std::fill_n(entropies, lanes, 0.0F);
  for (std::size_t c = 0; c < choices; ++c) {
    for (std::size_t n = 0; n < lanes; ++n) {
      entropies[n] -= chances[c * lanes + n] * logarithms[c * lanes + n];
    }
  }
}

// A step of Adam; gradients are 0 after it.
GYM_FOR_EACH_PROCESSOR
void adam(float* now, float* gradient, float* mean, float* square, std::size_t count, float rate,
          float correction) {
  for (std::size_t i = 0; i < count; ++i) {
    mean[i] += (1 - kMean) * (gradient[i] - mean[i]);
    square[i] = kSquare * square[i] + (1 - kSquare) * gradient[i] * gradient[i];
    now[i] -= rate * mean[i] / (std::sqrt(square[i]) * correction + kLeast);
    gradient[i] = 0;
  }
}

// Makes the mean 0 and the deviation 1 of advantages of each agent, as far as they have rows.
void normalise(std::vector<double>& advantages) {
  const auto count = static_cast<double>(advantages.size());
  const double mean = std::accumulate(advantages.begin(), advantages.end(), 0.0) / count;
  double square = 0;
  for (double& each : advantages) {
    each -= mean;
    square += each * each;
  }
  for (double& each : advantages) each /= std::sqrt(square / count) + 1e-8;
}

}  // namespace

Team::Team(std::vector<std::size_t> choices, std::vector<std::size_t> owners, std::size_t agents,
           const float* logits, const First& first, const Rule& rule)
    : choices_(std::move(choices)), owners_(std::move(owners)), agents_(agents), rule_(rule) {
  for (const std::size_t count : choices_) {
    starts_.push_back(logits_.size());
    logits_.insert(logits_.end(), logits + logits_.size(), logits + logits_.size() + count);
  }
  const std::array<std::size_t, 2> ins = {kSeen, kHidden};
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const std::size_t count = agents_ * ins[layer] * kHidden;
    policy_.weights[layer] = weights_of(count, first.policy[layer]);
    critic_.weights[layer] = weights_of(count, first.critic[layer]);
    policy_.biases[layer] = weights_of(agents_ * kHidden);
    critic_.biases[layer] = weights_of(agents_ * kHidden);
  }
  outputs_ = weights_of(logits_.size() * kHidden, first.outputs);
  values_ = weights_of(agents_ * kHidden, first.values);
}

void Team::draw(const float* seen, const double* uniform, std::size_t rows, std::int64_t* actions) {
  rows_ = rows;
  lanes_ = padded(rows);
  seen_.assign(lanes_ * kSeen, 0);
  std::copy_n(seen, rows * kSeen, seen_.begin());
  see_policies();
  std::vector<double> sums(lanes_);
  for (std::size_t head = 0; head < heads(); ++head) {
    const float* chances = &probabilities_[starts_[head] * lanes_];
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t c = 0; c < choices_[head]; ++c) {
      for (std::size_t n = 0; n < lanes_; ++n)
        sums[n] += static_cast<double>(chances[c * lanes_ + n]);
    }
    for (std::size_t n = 0; n < rows; ++n) {
      const double reached = uniform[n * heads() + head] * sums[n];
      auto cumulated = static_cast<double>(chances[n]);
      std::size_t chosen = 0;
      while (cumulated <= reached && chosen + 1 < choices_[head]) {
        cumulated += static_cast<double>(chances[++chosen * lanes_ + n]);
      }
      actions[n * heads() + head] = static_cast<std::int64_t>(chosen);
    }
  }
}

void Team::learn(const std::int64_t* actions, const double* rewards, const float* imitated) {
  see_values();
  const Rows before = of_actions(actions);
  std::vector<double> advantages(rows_);
  Rows wanted(agents_ * lanes_);
  for (std::size_t agent = 0; agent < agents_; ++agent) {
    for (std::size_t n = 0; n < rows_; ++n) {
      advantages[n] = rewards[n] - static_cast<double>(valued_[agent * lanes_ + n]);
    }
    normalise(advantages);
    std::copy(advantages.begin(), advantages.end(), &wanted[agent * lanes_]);
  }
  const float share = 1.0F / static_cast<float>(rows_);
  const auto clip = static_cast<float>(rule_.clip);
  std::vector<float> pull(agents_ * lanes_), errors(agents_ * lanes_);
  for (int epoch = 0; epoch < rule_.epochs; ++epoch) {
    if (epoch > 0) {
      see_policies();
      see_values();
    }
    const Rows now = epoch > 0 ? of_actions(actions) : before;
    for (std::size_t agent = 0; agent < agents_; ++agent) {
      for (std::size_t n = 0; n < rows_; ++n) {
        const std::size_t at = agent * lanes_ + n;
        const float change = now[at] - before[at];
        const bool bounded = change <= static_cast<float>(rule_.most_change);
        // e^x of a positive number as well: 1 / e^-x.
        const float small = fast_exp(std::max(-std::abs(change), kLowest));
        const float ratio = change > 0 ? 1 / small : small;
        const bool free = wanted[at] >= 0 ? ratio < 1 + clip : ratio > 1 - clip;
        pull[at] = free && bounded ? wanted[at] * ratio * share : 0;
        errors[at] = (valued_[at] - static_cast<float>(rewards[n])) * share;
      }
    }
    teach_policies(pull, actions, imitated);
    Rows of_hidden(agents_ * lanes_ * kHidden);
    for (std::size_t agent = 0; agent < agents_; ++agent) {
      const float* error = &errors[agent * lanes_];
      const float* hidden = &critic_.hidden[1][agent * lanes_ * kHidden];
      const float* weights = &values_.now[agent * kHidden];
      add_product({error, 0, 1}, 1, rows_, hidden, kHidden, &values_.gradient[agent * kHidden]);
      add_product({error, 1, 0}, rows_, 1, weights, kHidden, &of_hidden[agent * lanes_ * kHidden]);
    }
    teach(critic_, of_hidden);
    step();
  }
}

void Team::chances(float* to) const {
  for (std::size_t c = 0; c < logits_.size(); ++c) {
    to[c] = probabilities_[c * lanes_ + rows_ - 1];
  }
}

// Computes both hidden layers of the rows seen.
void Team::see(Trunk& trunk) {
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const std::size_t ins = layer == 0 ? kSeen : kHidden;
    Rows& hidden = trunk.hidden[layer];
    hidden.resize(agents_ * lanes_ * kHidden);
    for (std::size_t agent = 0; agent < agents_; ++agent) {
      const float* from = layer == 0 ? seen_.data() : &trunk.hidden[0][agent * lanes_ * kHidden];
      float* to = &hidden[agent * lanes_ * kHidden];
      const float* bias = &trunk.biases[layer].now[agent * kHidden];
      for (std::size_t n = 0; n < lanes_; ++n) std::copy_n(bias, kHidden, to + n * kHidden);
      add_product({from, ins, 1}, lanes_, ins, &trunk.weights[layer].now[agent * ins * kHidden],
                  kHidden, to);
    }
    to_tanh(hidden.data(), hidden.size());
  }
}

// Adds to the gradients of both hidden layers, from the errors of what they gave.
void Team::teach(Trunk& trunk, Rows& errors) {
  const std::vector<float> ones(lanes_, 1.0F);
  std::vector<float> transposed(kHidden * kHidden);
  Rows before(lanes_ * kHidden);
  for (std::size_t agent = 0; agent < agents_; ++agent) {
    const std::size_t first = agent * lanes_ * kHidden;
    float* error = &errors[first];
    for (const std::size_t layer : {std::size_t{1}, std::size_t{0}}) {
      const std::size_t ins = layer == 0 ? kSeen : kHidden;
      const float* taken = layer == 0 ? seen_.data() : &trunk.hidden[0][first];
      through_tanh(&trunk.hidden[layer][first], rows_ * kHidden, error);
      add_product({taken, 1, ins}, ins, rows_, error, kHidden,
                  &trunk.weights[layer].gradient[agent * ins * kHidden]);
      add_product({ones.data(), 0, 1}, 1, rows_, error, kHidden,
                  &trunk.biases[layer].gradient[agent * kHidden]);
      if (layer == 0) break;
      const float* weights = &trunk.weights[1].now[agent * kHidden * kHidden];
      for (std::size_t i = 0; i < kHidden; ++i) {
        for (std::size_t j = 0; j < kHidden; ++j) {
          transposed[j * kHidden + i] = weights[i * kHidden + j];
        }
      }
      std::fill(before.begin(), before.end(), 0.0F);
      add_product({error, kHidden, 1}, rows_, kHidden, transposed.data(), kHidden, before.data());
      error = before.data();
    }
  }
}

void Team::see_policies() {
  see(policy_);
  logarithms_.resize(logits_.size() * lanes_);
  probabilities_.resize(logits_.size() * lanes_);
  // What each agent's policy gives, a row of lanes for each unit.
  Rows units(agents_ * kHidden * lanes_);
  for (std::size_t agent = 0; agent < agents_; ++agent) {
    for (std::size_t n = 0; n < lanes_; ++n) {
      for (std::size_t i = 0; i < kHidden; ++i) {
        units[(agent * kHidden + i) * lanes_ + n] =
            policy_.hidden[1][(agent * lanes_ + n) * kHidden + i];
      }
    }
  }
  std::vector<float> most(lanes_), sums(lanes_);
  for (std::size_t head = 0; head < heads(); ++head) {
    const std::size_t start = starts_[head];
    float* to = &logarithms_[start * lanes_];
    for (std::size_t c = 0; c < choices_[head]; ++c) {
      std::fill_n(to + c * lanes_, lanes_, logits_[start + c]);
    }
    add_product({&outputs_.now[start * kHidden], kHidden, 1}, choices_[head], kHidden,
                &units[owners_[head] * kHidden * lanes_], lanes_, to);
    to_logarithms(to, choices_[head], lanes_, most.data(), sums.data(),
                  &probabilities_[start * lanes_]);
  }
}

void Team::see_values() {
  see(critic_);
  valued_.assign(agents_ * lanes_, 0);
  for (std::size_t agent = 0; agent < agents_; ++agent) {
    for (std::size_t n = 0; n < rows_; ++n) {
      const float* hidden = &critic_.hidden[1][(agent * lanes_ + n) * kHidden];
      const float* weights = &values_.now[agent * kHidden];
      float sum = 0;
      for (std::size_t i = 0; i < kHidden; ++i) sum += hidden[i] * weights[i];
      valued_[agent * lanes_ + n] = sum;
    }
  }
}

void Team::teach_policies(const std::vector<float>& pull, const std::int64_t* actions,
                          const float* imitated) {
  const float share = 1.0F / static_cast<float>(rows_);
  const auto entropy = static_cast<float>(rule_.entropy) * share;
  const float imitation = imitated == nullptr ? 0.0F : static_cast<float>(rule_.imitation) * share;
  Rows of_hidden(agents_ * lanes_ * kHidden);
  std::vector<float> errors, entropies(lanes_);
  for (std::size_t head = 0; head < heads(); ++head) {
    const std::size_t agent = owners_[head];
    const std::size_t start = starts_[head];
    const float* logarithms = &logarithms_[start * lanes_];
    const float* chances = &probabilities_[start * lanes_];
    errors.resize(choices_[head] * lanes_);
    if (entropy > 0) {
      entropies_of(logarithms, chances, choices_[head], lanes_, entropies.data());
    }
    errors_of(logarithms, chances, choices_[head], lanes_, &pull[agent * lanes_], entropy,
              imitated == nullptr ? nullptr : imitated + start, imitation, entropies.data(),
              errors.data());
    for (std::size_t n = 0; n < rows_; ++n) {
      const auto chosen = static_cast<std::size_t>(actions[n * heads() + head]);
      errors[chosen * lanes_ + n] -= pull[agent * lanes_ + n];
    }
    const float* hidden = &policy_.hidden[1][agent * lanes_ * kHidden];
    add_product({errors.data(), lanes_, 1}, choices_[head], rows_, hidden, kHidden,
                &outputs_.gradient[start * kHidden]);
    add_product({errors.data(), 1, lanes_}, rows_, choices_[head], &outputs_.now[start * kHidden],
                kHidden, &of_hidden[agent * lanes_ * kHidden]);
  }
  teach(policy_, of_hidden);
}

Rows Team::of_actions(const std::int64_t* actions) const {
  Rows sums(agents_ * lanes_);
  for (std::size_t n = 0; n < rows_; ++n) {
    for (std::size_t head = 0; head < heads(); ++head) {
      const auto chosen = static_cast<std::size_t>(actions[n * heads() + head]);
      sums[owners_[head] * lanes_ + n] += logarithms_[(starts_[head] + chosen) * lanes_ + n];
    }
  }
  return sums;
}

void Team::step() {
  ++steps_;
  const double rate = rule_.rate / (1 - std::pow(static_cast<double>(kMean), steps_));
  const double correction = 1 / std::sqrt(1 - std::pow(static_cast<double>(kSquare), steps_));
  for (Weights* each : all()) {
    adam(each->now.data(), each->gradient.data(), each->mean.data(), each->square.data(),
         each->now.size(), static_cast<float>(rate), static_cast<float>(correction));
  }
}

std::vector<Weights*> Team::all() {
  std::vector<Weights*> found = {&outputs_, &values_};
  for (Trunk* trunk : {&policy_, &critic_}) {
    for (std::size_t layer = 0; layer < 2; ++layer) {
      found.push_back(&trunk->weights[layer]);
      found.push_back(&trunk->biases[layer]);
    }
  }
  return found;
}

}  // namespace gym::perceptrons
