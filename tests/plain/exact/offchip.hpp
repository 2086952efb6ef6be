// Which tensors L2 keeps whole, and what crosses the chip's edge (E3.5).
#pragma once

#include <array>
#include <cstdint>

#include "../layer.hpp"

namespace gym::exact {

using PerTensor = std::array<std::int64_t, kTensors>;

struct L2Plan {
  int resident = 0;  // bit per tensor: input 1, filter 2, output 4
  PerTensor offchip_in{};
  std::int64_t offchip_out = 0;
  std::int64_t size = 0;  // least L2 the mapping runs with
  std::int64_t used = 0;  // by the chosen set
  std::int64_t hold = 0;  // least L2 with compulsory off-chip traffic

  std::int64_t words_in() const { return offchip_in[0] + offchip_in[1] + offchip_in[2]; }
};

// `words`: of the whole tensors; `stream`: words that pass between L2 and the array; `tile`: words
// of the largest array tile; `capacity` in bytes.
L2Plan plan_l2(const PerTensor& words, const PerTensor& stream, const PerTensor& tile,
               std::int64_t capacity);

}  // namespace gym::exact
