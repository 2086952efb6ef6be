// The MAESTRO binary's arithmetic for one layer in a file of its own.
#pragma once

#include "../model.hpp"
#include "analysis.hpp"

namespace gym::maestro {

class MaestroModel final : public Model {
 public:
  MaestroModel(const Layer& layer, const Hardware& hardware);

  // The analysis refers to its siblings.
  MaestroModel(const MaestroModel&) = delete;
  MaestroModel& operator=(const MaestroModel&) = delete;

  Status evaluate(const Mapping& mapping, Metrics& metrics) override;

 private:
  void fill(Metrics& metrics) const;

  Layer layer_;
  Hardware hardware_;
  LayerTable table_;
  Machine machine_;
  Analysis analysis_;
  Levels levels_;
  LayerResult result_;
};

}  // namespace gym::maestro
