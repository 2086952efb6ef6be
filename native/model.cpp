#include "model.hpp"

#include "exact/model.hpp"
#include "maestro/model.hpp"

namespace gym {

std::unique_ptr<Model> make_model(std::string_view name, const Layer& layer,
                                  const Hardware& hardware) {
  if (name == "maestro") return std::make_unique<maestro::MaestroModel>(layer, hardware);
  if (name == "exact") return std::make_unique<exact::ExactModel>(layer, hardware);
  return nullptr;
}

}  // namespace gym
