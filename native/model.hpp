// What a cost model is to the rest: a mapping in, figures or the reason for none out.
#pragma once

#include <memory>
#include <string_view>

#include "hardware.hpp"
#include "mapping.hpp"
#include "metrics.hpp"
#include "status.hpp"

namespace gym {

class Model {
 public:
  virtual ~Model() = default;

  // Fills `metrics` if and only if it returns `ok`. Buffers are kept between calls.
  virtual Status evaluate(const Mapping& mapping, Metrics& metrics) = 0;
};

// The model called `name` for one layer on one machine; null for an unknown name.
std::unique_ptr<Model> make_model(std::string_view name, const Layer& layer,
                                  const Hardware& hardware);

}  // namespace gym
