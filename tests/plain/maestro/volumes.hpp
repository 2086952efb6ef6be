// What one step of a level moves and computes: fetches, outputs, MACs (S6.2-S6.6).
#pragma once

#include "cases.hpp"

namespace gym::maestro {

class Volumes {
 public:
  Volumes(const LayerTable& table, const Level& level, const Cases& cases)
      : table_(table), level_(level), cases_(cases) {}

  // Reads the selected case; what follows speaks of it.
  void begin_case();

  // Words of an input tensor fetched by the whole array; false if the binary exits.
  bool ingress(TensorId tensor, std::int64_t& words) const;
  // Output words sent up by the whole array.
  std::int64_t egress() const;
  // MACs of the whole array.
  std::int64_t macs() const;
  // MACs of the busiest unit, the critical path.
  std::int64_t unit_macs() const;

 private:
  // How a product is spread over the units: by spatial dimensions that stand at an edge or not.
  struct Spread {
    bool spatial = false;  // some spatial dimension matters
    bool edge = false;     // one of them stands at its edge
    bool ragged = false;   // the last of them stands at a ragged edge
  };

  bool restarted(const Tensor& tensor) const;
  bool temporal_fetch(TensorId tensor, bool restarted, std::int64_t& words) const;
  std::int64_t resident_factor(const Factor& factor, bool first, bool ragged) const;
  std::int64_t fetch_factor(const Factor& factor, bool restarted, bool first, bool ragged) const;
  std::int64_t output_factor(const Factor& factor, bool first, bool ragged, bool fresh) const;
  std::int64_t temporal_words(const Product& product) const;
  std::int64_t outputs(bool first, bool ragged, bool reuse) const;
  std::int64_t unit_volume(bool first, bool ragged, bool reuse) const;
  Spread spread_of(const Tensor& tensor) const;
  Spread spread_of_all() const;

  const LayerTable& table_;
  const Level& level_;
  const Cases& cases_;
  std::int64_t temporal_outputs_ = 1;
  std::int64_t temporal_reductions_ = 1;
  Spread output_spread_;
};

}  // namespace gym::maestro
