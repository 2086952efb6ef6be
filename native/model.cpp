#include "model.hpp"

#include "maestro/model.hpp"

namespace gym {

std::unique_ptr<Model> make_model(std::string_view name, const Layer& layer,
                                  const Hardware& hardware) {
  if (name == "maestro") return std::make_unique<maestro::MaestroModel>(layer, hardware);
  return nullptr;
}

}  // namespace gym
