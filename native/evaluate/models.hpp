// The one place that knows all cost models.
#pragma once

#include <memory>
#include <string_view>

#include "../exact/model.hpp"
#include "../maestro/model.hpp"

namespace gym {

// The model called `name` for one layer on one machine; null for an unknown name.
inline std::unique_ptr<Model> make_model(std::string_view name, const Layer& layer,
                                         const Hardware& hardware) {
  if (name == "maestro") return std::make_unique<maestro::MaestroModel>(layer, hardware);
  if (name == "exact") return std::make_unique<exact::ExactModel>(layer, hardware);
  return nullptr;
}

}  // namespace gym
