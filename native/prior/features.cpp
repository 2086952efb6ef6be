// What the networks see: of the decisions so far, and of each option of the next one.
#include <algorithm>
#include <bit>

#include "../core/integers.hpp"
#include "decisions.hpp"

namespace gym::prior {

namespace {

// Entries are about 1 in size: octaves are divided by this.
constexpr float kScale = 8;

float octaves(double number) { return log2_of(std::max(number, 0x1p-60)) / kScale; }
float share(std::int64_t part, std::int64_t whole) {
  return static_cast<float>(static_cast<double>(part) / static_cast<double>(whole));
}

// How full units are on average that share so many chunks in turns.
float use(std::int64_t chunks, std::int64_t units) {
  return share(chunks, ceil_div(chunks, units) * units);
}

// How often 2 divides a size, up to 8 times.
float twos(std::int64_t size) {
  return static_cast<float>(std::countr_zero(static_cast<std::uint64_t>(size) | 0x100)) / kScale;
}

// Words of tiles as real numbers, which do not overflow.
std::array<double, kTensors> words(const LoopNest& nest, const Extents& tile) {
  const auto of = [&](LoopId id) { return static_cast<double>(tile[id]); };
  const auto rows = [&](LoopId outputs, LoopId taps, std::int64_t stride) {
    return static_cast<double>(touched_rows(tile[outputs], tile[taps], stride));
  };
  const double batch = of(kLoopN) * of(kLoopG);
  return {batch * of(kLoopC) * rows(kLoopP, kLoopR, nest.stride_y) *
              rows(kLoopQ, kLoopS, nest.stride_x),
          of(kLoopG) * of(kLoopK) * of(kLoopC) * of(kLoopR) * of(kLoopS),
          batch * of(kLoopK) * of(kLoopP) * of(kLoopQ)};
}

double sum(const std::array<double, kTensors>& numbers) {
  return numbers[0] + numbers[1] + numbers[2];
}

// Writes numbers one after the other.
class Writer {
 public:
  explicit Writer(float* to) : to_(to) {}

  void put(float number) { *to_++ = number; }
  // 1 for a loop, 0 for the others; all 0 for none.
  void put_loop(int id) {
    for (int each = 0; each < kLoops; ++each) put(each == id ? 1.0F : 0.0F);
  }

 private:
  float* to_;
};

constexpr std::array<LoopSet, kTensors> kLoopsOfTensors = {
    kInputSingles | set_of(kLoopP, kLoopQ, kLoopR, kLoopS), kFilterLoops, kOutputLoops};

}  // namespace

Decisions::Need Decisions::need(const Partial& partial, const std::array<Extents, 2>& tile) const {
  Extents array = tile[0];
  if (const LoopId outer = partial.parallel[0]; outer != kLoops) {
    array[outer] = std::min(nest_.extent[outer], array[outer] * partial.units[0]);
  }
  const double shared = 2 * sum(words(nest_, tile[0])) / static_cast<double>(partial.units[1]);
  const double own = 2 * sum(words(nest_, tile[1]));
  return {octaves((own + shared) /
                  static_cast<double>(std::max<std::int64_t>(hardware_.l1_words(), 1))),
          octaves(2 * sum(words(nest_, array)) /
                  static_cast<double>(std::max<std::int64_t>(hardware_.l2_words(), 1)))};
}

void Decisions::describe(const Step& step, const Partial& partial, Options& options,
                         float* state) const {
  describe_state(step, partial, state);
  for (int i = 0; i < options.count; ++i) options.features[static_cast<std::size_t>(i)].fill(0);
  if (step.decision <= kInnerParallel) return describe_parallel(step, partial, options);
  if (step.decision == kCluster) return describe_clusters(partial, options);
  if (step.decision >= kOuterOrder) return describe_loops(step, partial, options);
  describe_tiles(step, partial, options);
}

void Decisions::describe_state(const Step& step, const Partial& partial, float* state) const {
  std::fill_n(state, kStateSize, 0.0F);
  Writer to(state);
  to.put_loop(partial.parallel[0]);
  to.put_loop(partial.parallel[1]);
  to.put(octaves(static_cast<double>(partial.units[0])));
  to.put(octaves(static_cast<double>(partial.units[1])));
  for (std::size_t level = 0; level < 2; ++level) {
    for (int id = 0; id < kLoops; ++id) {
      const auto loop = static_cast<LoopId>(id);
      to.put(octaves(static_cast<double>(partial.tile[level][id])));
      to.put(octaves(static_cast<double>(passes(level, loop, partial))));
    }
  }
  const Need need = this->need(partial, partial.tile);
  to.put(need.l1);
  to.put(need.l2);
  for (std::size_t level = 0; level < 2; ++level) {
    for (const double each : words(nest_, partial.tile[level])) to.put(octaves(each));
  }
  if (step.decision < kOuterOrder) return;
  // Loops that were placed, and the last of them.
  const std::vector<std::uint8_t>& placed = partial.order[step.level];
  for (const std::uint8_t dim : placed) state[kStateSize - 2 * kLoops + loop(dim)] = 1;
  if (!placed.empty()) state[kStateSize - kLoops + loop(placed.back())] = 1;
}

void Decisions::describe_parallel(const Step& step, const Partial& partial,
                                  Options& options) const {
  const std::int64_t pes = hardware_.num_pes;
  for (int i = 0; i < options.count; ++i) {
    const LoopId id = loop(static_cast<std::size_t>(options.value[static_cast<std::size_t>(i)]));
    const std::int64_t extent = nest_.extent[id];
    Writer to(options.features[static_cast<std::size_t>(i)].data());
    to.put_loop(id);
    to.put(octaves(static_cast<double>(extent)));
    to.put(octaves(static_cast<double>(extent) / static_cast<double>(pes)));
    to.put(use(extent, pes));
    to.put(twos(extent));
    if (step.level == 0) continue;
    const LoopId outer = partial.parallel[0];
    to.put(id == outer ? 1.0F : 0.0F);
    const double both =
        static_cast<double>(extent) * static_cast<double>(id == outer ? 1 : nest_.extent[outer]);
    to.put(octaves(both / static_cast<double>(pes)));
  }
}

void Decisions::describe_clusters(const Partial& partial, Options& options) const {
  const std::int64_t pes = hardware_.num_pes;
  const std::int64_t outer = outer_work(partial);
  const std::int64_t inner = partial.tile[0][partial.parallel[1]];
  Partial tried = partial;
  for (int i = 0; i < options.count; ++i) {
    const std::int64_t size = options.value[static_cast<std::size_t>(i)];
    const std::int64_t clusters = pes / size;
    tried.units = {clusters, size};
    const Need need = this->need(tried, tried.tile);
    Writer to(options.features[static_cast<std::size_t>(i)].data());
    to.put(octaves(static_cast<double>(size)));
    to.put(octaves(static_cast<double>(clusters)));
    to.put(share(clusters * size, pes));
    to.put(use(inner, size));
    to.put(use(outer, clusters));
    to.put(use(inner, size) * use(outer, clusters) * share(clusters * size, pes));
    to.put(octaves(static_cast<double>(inner) / static_cast<double>(size)));
    to.put(octaves(static_cast<double>(outer) / static_cast<double>(clusters)));
    to.put(std::min(octaves(static_cast<double>(inner) / static_cast<double>(size)), 0.0F));
    to.put(std::min(octaves(static_cast<double>(outer) / static_cast<double>(clusters)), 0.0F));
    to.put(need.l1);
    to.put(size == 1 ? 1.0F : 0.0F);
    to.put(size == pes ? 1.0F : 0.0F);
    to.put(twos(size));
    to.put(inner % size == 0 ? 1.0F : 0.0F);
    to.put(outer % clusters == 0 ? 1.0F : 0.0F);
  }
}

void Decisions::describe_tiles(const Step& step, const Partial& partial, Options& options) const {
  const LoopId id = loop(dim_of(step, partial));
  const std::size_t level = step.level;
  const std::int64_t extent = above(level, id, partial);
  // While the size of clusters is open, all PEs count as one.
  const std::int64_t pes = step.decision == kDealtTile ? hardware_.num_pes : partial.units[1];
  const bool parallel = id == partial.parallel[level];
  const std::int64_t units = parallel ? partial.units[level] : 1;
  std::array<Extents, 2> tile = partial.tile;
  for (int i = 0; i < options.count; ++i) {
    const std::int64_t size = std::min(options.value[static_cast<std::size_t>(i)], extent);
    const std::int64_t chunks = ceil_div(extent, size);
    const std::int64_t passes = ceil_div(chunks, units);
    tile[level][id] = size;
    const Need need = this->need(partial, tile);
    const std::array<double, kTensors> moved = words(nest_, tile[level]);
    double macs = 1;
    for (const std::int64_t each : tile[level]) macs *= static_cast<double>(each);
    const double lanes =
        static_cast<double>(hardware_.simd_lanes) * static_cast<double>(level == 0 ? pes : 1);
    Writer to(options.features[static_cast<std::size_t>(i)].data());
    to.put(octaves(static_cast<double>(size)));
    to.put(octaves(static_cast<double>(chunks)));
    to.put(share(size, extent));
    to.put(share(extent, chunks * size));
    to.put(octaves(static_cast<double>(passes)));
    to.put(parallel ? use(chunks, units) : 1.0F);
    to.put(static_cast<float>(static_cast<double>(extent) /
                              (static_cast<double>(passes * units) * static_cast<double>(size))));
    to.put(level == 0 && id == partial.parallel[1] ? use(size, pes) : 1.0F);
    to.put(need.l1);
    to.put(need.l2);
    for (const double each : moved) to.put(octaves(each));
    // Cycles to compute over cycles to move, in and out.
    const auto bw = static_cast<double>(hardware_.noc_bw);
    to.put(octaves(macs / lanes * bw / (moved[0] + moved[1])));
    to.put(octaves(macs / lanes * bw / moved[2]));
    to.put(octaves(macs / lanes));
    to.put(size == 1 ? 1.0F : 0.0F);
    to.put(size == extent ? 1.0F : 0.0F);
    to.put(twos(size));
    to.put(passes == 1 ? 1.0F : 0.0F);
  }
}

void Decisions::describe_loops(const Step& step, const Partial& partial, Options& options) const {
  const std::array<double, kTensors> moved = words(nest_, partial.tile[step.level]);
  for (int i = 0; i < options.count; ++i) {
    const LoopId id = loop(static_cast<std::size_t>(options.value[static_cast<std::size_t>(i)]));
    Writer to(options.features[static_cast<std::size_t>(i)].data());
    to.put_loop(id);
    to.put(octaves(static_cast<double>(passes(step.level, id, partial))));
    to.put(id == partial.parallel[step.level] ? 1.0F : 0.0F);
    // Words that stay as the loop moves on, and those that go.
    double stay = 0;
    double go = 0;
    for (std::size_t tensor = 0; tensor < kTensors; ++tensor) {
      const bool moves = has(kLoopsOfTensors[tensor], id);
      to.put(moves ? octaves(moved[tensor]) : 0);
      (moves ? go : stay) += moved[tensor];
    }
    to.put(octaves(std::max(stay, 0.5)));
    to.put(octaves(go));
    to.put(static_cast<float>(options.count) / kScale);
  }
}

}  // namespace gym::prior
