// Agents without observations: a logit for each choice, learnt by PPO.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "features.hpp"
#include "functions.hpp"
#include "heads.hpp"

namespace gym::agents {

// The logit of a choice is the sum of a fixed start, a weight of its own, and those of its
// features. All sums have numpy's order.
class Stateless {
 public:
  struct Rule {
    double rate, clip, entropy, imitation, most_change;
    int epochs;
  };
  struct Functions {
    Function exp, log;
    // Writes, of rows of a number for each head, the sums over the heads of each agent.
    std::function<void(const double* numbers, std::size_t rows, double* sums)> of_agents;
  };

  // `owners` are the agents of the heads, from 0 to `agents` - 1; `bias` starts the logits.
  Stateless(std::vector<std::int64_t> counts, std::vector<std::size_t> owners, std::size_t agents,
            std::vector<double> bias, std::vector<Features> features, const Rule& rule,
            Functions functions);

  // Choices of each head.
  const std::vector<std::int64_t>& counts() const { return counts_; }
  // The probability of every choice within its head.
  const std::vector<double>& chances() const { return chances_; }

  // Writes an action of each head by inverting its distribution function at uniform numbers.
  void draw(const double* uniform, std::size_t rows, std::int64_t* actions) const;
  // Learns from the rewards of actions, and imitates the best.
  void learn(Actions actions, const double* rewards, Actions best);

 private:
  std::size_t heads() const { return counts_.size(); }
  void see();
  std::size_t at(std::size_t head, const std::int64_t* row) const;
  std::vector<double> of_actions(Actions actions) const;
  std::vector<double> pull(std::vector<double> change, const std::vector<double>& advantages) const;
  void set_gradient(Actions actions, const std::vector<double>& pulls,
                    const std::vector<double>& imitated);
  void add_entropy(std::size_t head);

  std::vector<std::int64_t> counts_;
  std::vector<std::size_t> owners_, starts_;  // of each head; where the last one ends
  std::size_t agents_;
  std::vector<double> bias_;
  std::vector<Features> features_;  // of each head
  Rule rule_;
  Functions functions_;
  // Of each choice, then of the features of each head; with Adam's averages of the gradient.
  std::vector<double> weights_, gradient_, mean_, square_;
  std::vector<double> logarithms_, chances_;
  int steps_ = 0;
};

}  // namespace gym::agents
