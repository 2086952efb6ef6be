// Agents with networks that learn by PPO: forward, backward and Adam of all of them in one call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gym::perceptrons {

// Weights that belong together, and Adam's averages of their gradients.
struct Weights {
  std::vector<float> now, gradient, mean, square;
};

// Rows of numbers, each filled up to whole registers.
using Rows = std::vector<float>;

// Every agent has two hidden layers of 64 tanh units for its policy and two for its critic. A head
// is a softmax over the outputs of its agent's policy plus fixed logits. All sums are taken in the
// same order on every processor.
class Team {
 public:
  static constexpr std::size_t kSeen = 4;
  static constexpr std::size_t kHidden = 64;

  struct Rule {
    double rate, clip, entropy, imitation, most_change;
    int epochs;
  };
  // First weights: of policies and critics [agents, from, 64] and of their outputs; biases are 0.
  struct First {
    std::array<const float*, 2> policy, critic;
    // A row of 64 for each choice of each head, and for each agent's value.
    const float* outputs;
    const float* values;
  };

  // `owners` are the agents of the heads, from 0 to `agents` - 1; `logits` are fixed, one a choice.
  Team(std::vector<std::size_t> choices, std::vector<std::size_t> owners, std::size_t agents,
       const float* logits, const First& first, const Rule& rule);

  std::size_t heads() const { return choices_.size(); }
  std::size_t choices(std::size_t head) const { return choices_[head]; }
  std::size_t logits() const { return logits_.size(); }
  // Drawn last.
  std::size_t rows() const { return rows_; }
  // Writes an action a head of each row, by inverting distribution functions at uniform numbers.
  void draw(const float* seen, const double* uniform, std::size_t rows, std::int64_t* actions);
  // Learns from the rewards of the actions drawn last. `imitated` has a share for each choice;
  // nullptr for none.
  void learn(const std::int64_t* actions, const double* rewards, const float* imitated);
  // Writes the probability of each choice for the row seen last.
  void chances(float* to) const;

 private:
  // Two hidden layers of each agent, and what they made of the rows seen.
  struct Trunk {
    std::array<Weights, 2> weights, biases;
    std::array<Rows, 2> hidden;
  };

  void see(Trunk& trunk);
  void teach(Trunk& trunk, Rows& errors);
  void see_policies();
  void see_values();
  void teach_policies(const std::vector<float>& pull, const std::int64_t* actions,
                      const float* imitated);
  // The sum of the logarithms of the chances of each agent's actions, in rows of lanes_.
  Rows of_actions(const std::int64_t* actions) const;
  void step();
  std::vector<Weights*> all();

  std::vector<std::size_t> choices_, owners_, starts_;
  std::size_t agents_;
  std::vector<float> logits_;
  Rule rule_;
  Trunk policy_, critic_;
  Weights outputs_, values_;
  int steps_ = 0;
  // Rows seen last, and the next multiple of a register.
  std::size_t rows_ = 0, lanes_ = 0;
  Rows seen_;
  // A row of lanes for each choice, or agent.
  Rows logarithms_, probabilities_, valued_;
};

}  // namespace gym::perceptrons
