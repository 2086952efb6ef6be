// The hierarchical model of one layer on one accelerator with any memories.
#pragma once

#include <vector>

#include "costs.hpp"

namespace gym::hierarchy {

// Whether there are figures; mappings that exceed a capacity have some if wanted.
constexpr bool has_results(Verdict verdict, bool of_overflows = true) {
  return verdict == Verdict::ok || (of_overflows && verdict == Verdict::pool_overflow);
}

class Model {
 public:
  Model(const Shape& shape, const Accelerator& accelerator, const Options& options);
  // The parts of one refer to each other.
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Where there are results, they last until the next call.
  Verdict evaluate(Mapping mapping, Figures& figures, bool of_overflows = true);
  // Whether the tiles of a mapping fit all memories.
  bool fits(Mapping mapping);

  const std::vector<Boundary>& boundaries() const { return traffic_.boundaries(); }
  const std::vector<Moved>& moved() const { return moved_; }
  const std::vector<Flows>& flows() const { return flows_; }
  // Bits that the tiles of a tensor take of the physical memory of an element.
  double needs(int element, int tensor) const {
    return costs_.needs(nest_, traffic_, element, tensor);
  }
  // The sum of the shares of all capacities that the tiles exceed them by.
  double missing() const { return costs_.missing(nest_, traffic_); }
  std::vector<Prices> prices() const { return costs_.prices(traffic_); }
  auto roundings() const { return costs_.roundings(traffic_); }

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
