// The hierarchical model of one layer on one accelerator with any memories.
#pragma once

#include <vector>

#include "costs.hpp"

namespace gym::hierarchy {

class Model {
 public:
  Model(const Shape& shape, const Accelerator& accelerator, const Options& options);
  // The parts of one refer to each other.
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // With `ok` and `pool_overflow` there are results, until the next call.
  Verdict evaluate(Mapping mapping, Figures& figures);

  const std::vector<Boundary>& boundaries() const { return traffic_.boundaries(); }
  const std::vector<Moved>& moved() const { return moved_; }
  const std::vector<Flows>& flows() const { return flows_; }
  // Bits that the tiles of a tensor take of the physical memory of an element.
  double needs(int element, int tensor) const {
    return costs_.needs(nest_, traffic_, element, tensor);
  }
  std::vector<Prices> prices() const { return costs_.prices(); }

 private:
  bool overflows() const;

  Shape shape_;
  Accelerator accelerator_;
  Options options_;
  Nest nest_;
  Traffic traffic_;
  Costs costs_;
  std::vector<Moved> moved_;
  std::vector<Flows> flows_;
  std::vector<std::int64_t> used_, steps_;
};

}  // namespace gym::hierarchy
