// libFuzzer target: any mapping, and points of a space, of any shape on any memories and fan-outs.
// None has impossible figures, and a point has those of its mapping.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "../../native/hierarchy/model.hpp"
#include "batches.hpp"

namespace {

using namespace gym::hierarchy;
using driver::Bytes;
using gym::Status;

void require(bool fine, const char* what) {
  if (fine) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

PerTensorFlag flags(int bits) { return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}; }
std::int32_t positive(Bytes& bytes) { return std::max(bytes.size(), 1); }
double limit(Bytes& bytes) { return bytes.below(2) == 0 ? kUnlimited : positive(bytes); }

// The first one keeps all without limit; a part of another's memory has no figures of its own.
Memory read_memory(Bytes& bytes, int element, int pool) {
  const bool first = element == 0;
  Memory memory{.keeps = flags(first ? 7 : bytes.byte()),
                .forgets = flags(bytes.byte() & bytes.byte()),
                .width = {1 + bytes.below(32), 1 + bytes.below(32), 1 + bytes.below(32)},
                .buffers = 1 + bytes.below(2),
                .pool = pool,
                .launch_cycles = first ? 0 : bytes.below(3) / 2.0,
                .step_cycles = bytes.below(4),
                .load_cycles = bytes.below(4),
                .finish_cycles = bytes.below(3) / 2.0,
                .refill = first ? bytes.below(3) / 2.0 : 0};
  if (pool != element) return memory;
  for (double& bits : memory.capacity) bits = first ? kUnlimited : limit(bytes);
  memory.one_port = bytes.below(2) == 1;
  memory.read_bw = memory.write_bw = limit(bytes);
  if (!memory.one_port) memory.write_bw = limit(bytes);
  memory.read_pj = memory.write_pj = bytes.byte() / 16.0;
  memory.beat_bits = bytes.below(4) == 3 ? positive(bytes) : 0;
  memory.gaps = bytes.below(4) == 3;
  memory.cache = {limit(bytes), positive(bytes), bytes.byte() / 4.0};
  return memory;
}

ScorerSpec read_spec(Bytes& bytes) {
  ScorerSpec spec;
  for (std::int64_t& each : spec.shape.extent) each = positive(bytes);
  for (auto* pair : {&spec.shape.stride, &spec.shape.dilation}) {
    for (std::int64_t& step : *pair) step = 1 + bytes.below(3) * (bytes.rarely() ? 0x7fff : 1);
  }
  std::vector<Element>& elements = spec.accelerator.elements;
  for (int e = 0, pool = 0, count = 1 + bytes.below(10); e < count; ++e) {
    const bool is_memory = e == 0 || bytes.below(2) == 0;
    const bool part = is_memory && e > 0 && elements.back().is_memory && bytes.below(4) == 3;
    elements.push_back({is_memory, {}, {}});
    if (is_memory) {
      elements.back().memory = read_memory(bytes, e, pool = part ? pool : e);
    } else {
      elements.back().fanout = {positive(bytes), flags(bytes.byte()), bytes.byte() / 16.0,
                                limit(bytes)};
    }
  }
  spec.accelerator.simd_lanes = 1 + bytes.below(4);
  spec.accelerator.latch = flags(bytes.byte());
  spec.options = {bytes.rarely(), bytes.rarely(), static_cast<PartialSums>(bytes.below(3)),
                  bytes.below(4) != 3, bytes.below(4) != 3};
  return spec;
}

// Any tile at every memory, any number of units at every fan-out.
Space space_of(const ScorerSpec& spec) {
  Space space;
  const auto add = [&space](std::int64_t choices) {
    space.parameters.push_back({"", static_cast<std::int32_t>(choices)});
    return static_cast<int>(space.parameters.size()) - 1;
  };
  std::int64_t orders = 1;
  for (int loop = 0; loop < gym::kLoops; ++loop) {
    if (spec.shape.extent[loop] == 1) continue;
    space.dims.push_back(static_cast<gym::LoopId>(loop));
    space.extents.push_back(spec.shape.extent[loop]);
    orders *= std::ssize(space.dims);
  }
  for (int e = 0; e < spec.accelerator.rest(); ++e) {
    const auto& [is_memory, memory, fanout] = spec.accelerator.elements[e];
    Space::Part part;
    part.element = e;
    part.order_column = add(orders);
    part.free.resize(space.dims.size());
    std::iota(part.free.begin(), part.free.end(), std::uint8_t{0});
    for (const std::int64_t extent : space.extents) {
      part.sizes.push_back({add(is_memory ? extent : std::min(extent, fanout.size)), {}});
    }
    if (is_memory) space.groups.push_back({part, {}});
    if (!is_memory) space.groups.back().fanouts.push_back({part, fanout.size});
  }
  return space;
}

Status score(Scorer& scorer, Mapping mapping, gym::Metrics& metrics) {
  const Status status = scorer.score(mapping, gym::Detail::rows, metrics);
  const bool empty = status != Status::ok && status != Status::pool_overflow;
  const double cycles = metrics.latency_cycles, energy = metrics.energy_nj;
  require(std::isnan(cycles) == empty, "figures do not fit the status");
  require(empty || (cycles > 0 && std::isfinite(cycles)), "impossible cycles");
  require(std::isnan(energy) || (energy >= 0 && std::isfinite(energy)), "impossible energy");
  require(empty || metrics.utilization <= 1 + 1e-9, "more MACs than units have time for");
  return status;
}

void check_point(Scorer& scorer, const Space& space, std::vector<std::int32_t> point) {
  std::vector<MappedLoop> loops;
  space.decode(point.data(), loops);
  gym::Metrics of_loops, of_point;
  const Status status = score(scorer, loops, of_loops);
  const bool valid = status == Status::ok;
  require(!valid || scorer.fits(space, point.data()), "a valid mapping does not fit");
  require(valid == (scorer.violation(space, point.data()) == 0), "a violation of another status");
  // The point itself, then the one that its mapping is written as.
  for (int time = 0; time < 2; ++time, space.encode(loops, point.data())) {
    Status again;
    const gym::PointsOf<Space> points{space, point.data(), 1};
    require(points.first_out_of_range() < 0, "an entry out of range");
    scorer.score(points, {&of_point, &again});
    require(status == again && driver::same_bits(of_loops, of_point), "one mapping with two rows");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const ScorerSpec spec = read_spec(bytes);
  Scorer scorer(spec);
  const Space space = space_of(spec);
  for (const std::uint64_t seed : {bytes.byte(), bytes.byte()}) {
    check_point(scorer, space, driver::random_points(space, 1, seed));
  }
  std::vector<MappedLoop> loops;
  for (int element = 0; bytes.left() && loops.size() < 64;) {
    element = bytes.rarely() ? bytes.any() : std::min(element, kMaxElements) + bytes.below(8) / 6;
    const std::int32_t dim = bytes.rarely() ? bytes.any() : bytes.below(gym::kLoops);
    loops.push_back({element, dim, bytes.size()});
  }
  gym::Metrics metrics;
  score(scorer, loops, metrics);
  return 0;
}
