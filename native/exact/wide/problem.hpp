// What several mappings of one layer have in common.
#pragma once

#include <array>

#include "wide.hpp"

namespace gym::exact::wide {

// A sliding axis whose window is not cut: tiles of p outputs have p * step + halo rows.
struct Axis {
  double stride = 1, step = 1, halo = 0;
};

}  // namespace gym::exact::wide
