#include "problem.hpp"

#include "../../core/numbers.hpp"

namespace gym::maestro::wide {

namespace {

// Sizes and positions are C ints in the binary.
constexpr double kMostPositions = 0x1p30;

bool possible(const Hardware& hardware) {
  return hardware.num_pes >= 1 && hardware.simd_lanes == 1 && hardware.noc_bw >= 1 &&
         hardware.noc_latency >= 0 && hardware.noc_latency < 1 << 20 && hardware.offchip_bw >= 1;
}

bool is_window(const LayerTable& table, Dim dim) {
  return table.slides && (dim == kR || dim == kS);
}

Loop make_loop(const LayerTable& table, Dim dim) {
  Loop loop{dim, real(table.extent[dim]), {}};
  for (const TensorId id : {kInput, kFilter, kOutput}) loop.in[id] = table.tensors[id].has(dim);
  loop.slides = table.slides && (dim == kY || dim == kX);
  if (loop.slides) {
    loop.window = real(table.extent[window_of(dim)]);
    loop.stride = real(table.stride[dim]);
  }
  return loop;
}

// Whether a dimension is one the binary knows, of a size that is none of its special cases.
bool regular(const Loop& loop, const Hardware& hardware) {
  return loop.extent >= loop.window && loop.window >= 1 && loop.stride >= 1 &&
         loop.extent * loop.stride * hardware.num_pes < kMostPositions;
}

}  // namespace

Problem::Problem(const LayerTable& table, const Hardware& machine) : hardware(machine) {
  fits = possible(machine) && (table.undefined & table.in_vars) == 0;
  for (const TensorId id : {kInput, kFilter, kOutput}) {
    fits = fits && (table.tensors[id].set & ~table.present) == 0;
    words[id] = fits ? real(tensor_words(table, id)) : 0;
  }
  std::array<Loop, kMaxLoops> still;
  int still_count = 0;
  for (Dim dim = 0; table.in_vars >> dim != 0 && fits; ++dim) {
    if ((table.in_vars & bit(dim)) == 0) continue;
    const Loop found = make_loop(table, dim);
    const bool is_still = found.extent == found.window || is_window(table, dim);
    fits =
        regular(found, machine) && open + still_count < kMaxLoops && (is_still || open < kMaxOpen);
    if (fits) (is_still ? still[still_count++] : loop[open++]) = found;
  }
  loops = open;
  for (int d = 0; d < still_count; ++d) loop[loops++] = still[d];
}

bool Problem::reads(const MapSpace& space) const {
  if (!fits || open == 0 || space.dims.size() != static_cast<std::size_t>(loops)) return false;
  std::uint32_t named = 0;
  for (std::size_t d = 0; d < space.dims.size(); ++d) {
    const int i = loop_of(space.dims[d]);
    if (i < 0 || (named >> i & 1) != 0) return false;
    named |= 1u << i;
    // The others have one output, or are windows.
    const bool whole =
        i < open || space.leaves_whole(d, static_cast<std::int64_t>(loop[i].extent) -
                                              static_cast<std::int64_t>(loop[i].window) + 1);
    if (!whole) return false;
  }
  return true;
}

int Problem::loop_of(Dim dim) const {
  for (int i = 0; i < loops; ++i) {
    if (dim == (loop[i].slides ? output_axis(loop[i].dim) : loop[i].dim)) return i;
  }
  return -1;
}

void Problem::finish(Metrics& row) const {
  const auto steps = static_cast<long double>(row.steps);
  for (double* each : {&row.noc_avg_words_per_cycle, &row.ingress_avg_cycles,
                       &row.egress_avg_cycles, &row.compute_avg_cycles}) {
    *each = static_cast<double>(static_cast<long double>(*each) / steps);
  }
}

}  // namespace gym::maestro::wide
