// Mappings of one problem, proposed by networks, decision by decision.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../core/layer.hpp"
#include "../core/model.hpp"
#include "networks.hpp"

namespace gym::prior {

// What the decisions of mappings look like, for training: a row for each that had a choice.
struct Rows {
  std::vector<std::int32_t> mapping, decision, chosen, options;
  std::vector<float> states;    // kStateSize a row
  std::vector<float> features;  // kFeatures an option, of all rows one after the other
};

class Proposer {
 public:
  // Throws std::invalid_argument if no mapping fits the buffers.
  Proposer(std::unique_ptr<Model> model, MapSpace space, const Layer& layer,
           const Hardware& hardware, std::vector<float> context);
  // The parts of one refer to each other.
  Proposer(const Proposer&) = delete;
  Proposer& operator=(const Proposer&) = delete;

  const MapSpace& space() const { return masks_.space(); }
  const std::vector<float>& context() const { return context_; }
  // For whoever decides in place of networks.
  Decisions& decisions() { return decisions_; }
  // Numbers that a mapping is drawn by.
  std::size_t steps() const { return decisions_.steps().size(); }

  // Writes points, each drawn by a row of numbers in [0, 1), and the logarithm of its probability.
  // Scores are divided by the temperature; at 0 the option of the highest score is taken.
  void propose(std::shared_ptr<const Networks> networks, const double* uniforms, std::int64_t count,
               float temperature, std::int32_t* points, double* logarithms);
  // Reads the decisions of points in range, and writes the nearest points that options lead to.
  Rows trace(std::int32_t* points, std::int64_t count);

 private:
  // A decision that leaves a choice, after those before it; or a whole mapping.
  struct Node {
    std::size_t at;
    Partial partial;
    std::vector<std::int64_t> values;
    std::vector<float> scores;
    std::vector<std::unique_ptr<Node>> next;  // by option, once it was taken
    // Of the options, by their scores over a temperature; and their sum.
    std::vector<float> shares;
    float temperature, total;

    void share(float by_temperature);
  };
  // What some networks score, as the same decisions come again in every draw.
  struct Tree {
    std::shared_ptr<const Networks> networks;
    std::vector<float> context;
    std::size_t nodes;  // made below the root
    std::unique_ptr<Node> root;
  };
  struct Draws;
  std::unique_ptr<Node> grow(std::size_t at, Partial partial);
  void descend(const Draws& draws, Node& node, double logarithm,
               const std::vector<std::int64_t>& members);

  Masks masks_;
  Decisions decisions_;
  std::vector<float> context_;
  Tree tree_;
};

}  // namespace gym::prior
