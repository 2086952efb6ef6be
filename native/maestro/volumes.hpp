// What one step of a level moves and computes: fetches, outputs, MACs (S6.2-S6.6).
#pragma once

#include "cases.hpp"

namespace gym::maestro {

class Volumes {
 public:
  Volumes(const LayerTable& table, const Level& level, const Cases& cases)
      : table_(table), level_(level), cases_(cases) {}

  // Words of an input tensor fetched by the whole array; false if the binary exits.
  bool ingress(TensorId tensor, std::int64_t& words) const;
  // Output words sent up by the whole array.
  std::int64_t egress() const;
  // MACs of the whole array.
  std::int64_t macs() const;
  // MACs of the busiest unit, the critical path.
  std::int64_t unit_macs() const;

 private:
  struct Spread {
    DimSet spatial = 0;   // spatial dimensions that matter
    bool edge = false;    // one of them stands at its edge
    bool ragged = false;  // the last of them stands at a ragged edge
  };

  const LoopState& state_of(Dim dim) const { return cases_.state(level_.first[dim]); }
  bool moves(const Tensor& tensor) const;
  bool restarted(const Tensor& tensor) const;
  std::int64_t resident(const Tensor& tensor, bool first, bool ragged) const;
  bool fetch(const Tensor& tensor, bool restarted, bool first, bool ragged,
             std::int64_t& words) const;
  Spread spread_of(const Tensor& tensor) const;
  Spread spread_of_all() const;
  std::int64_t output_factor(int directive, Dim name, bool first, bool ragged, bool fresh) const;
  std::int64_t output(bool psums, bool first, bool ragged, bool reuse) const;

  const LayerTable& table_;
  const Level& level_;
  const Cases& cases_;
};

}  // namespace gym::maestro
