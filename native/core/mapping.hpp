// A mapping as MAESTRO writes it: directives from the outermost loop to the innermost, cut into
// levels by Cluster directives.
#pragma once

#include <cstdint>
#include <vector>

#include "layer.hpp"

namespace gym {

struct Directive {
  // `malformed` is a Cluster whose type letter MAESTRO does not know.
  enum class Kind : std::uint8_t { temporal, spatial, cluster, malformed };

  Kind kind = Kind::temporal;
  Dim dim = 0;
  std::int32_t size = 1;    // of the tile, or units of a cluster
  std::int32_t offset = 1;  // from one tile to the next
};

using Mapping = std::vector<Directive>;

}  // namespace gym
