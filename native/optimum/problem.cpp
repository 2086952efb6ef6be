#include "problem.hpp"

#include <algorithm>
#include <numeric>

namespace gym::optimum {

namespace {

// The sizes that a choice is between, cut to a limit.
std::vector<std::int32_t> sizes_of(const MapSpace& space, const Choice& choice, Index limit) {
  std::vector<std::int32_t> sizes = choice.values;
  if (sizes.empty()) {
    sizes.resize(static_cast<std::size_t>(space.parameters[choice.column].choices));
    std::iota(sizes.begin(), sizes.end(), 1);
  }
  for (std::int32_t& size : sizes) {
    size = static_cast<std::int32_t>(std::min<Index>(size, limit));
  }
  return sizes;
}

}  // namespace

Problem::Problem(const Layer& layer, const Hardware& hardware_, const MapSpace& space_)
    : nest(loop_nest(layer).value()), hardware(hardware_), space(space_) {
  const std::array<LoopId, kMaxDims> ids = loops_of(layer.op);
  std::array<bool, kLoops> cut{};
  for (std::size_t d = 0; d < space.dims.size(); ++d) {
    const LoopId id = ids[space.dims[d]];
    cut[id] = !space.leaves_whole(d, nest.extent[id]);
  }
  cuts_windows = cut[kLoopR] || cut[kLoopS];
  // The rows of a tile depend on the outputs and on the window.
  cut[kLoopP] |= cut[kLoopR];
  cut[kLoopQ] |= cut[kLoopS];
  for (std::size_t d = 0; d < space.dims.size(); ++d) {
    const LoopId id = ids[space.dims[d]];
    if (cut[id]) loops.push_back(make_loop(id, d));
  }
  for (Loop& loop : loops) {
    if (loop.slides()) loop.window = index_of(loop.id == kLoopP ? kLoopR : kLoopS);
  }
  whole = sum_whole();
  for (std::size_t j = 0; j < parallel.size(); ++j) {
    const std::vector<std::int32_t>& dims = space.levels[j].parallel.values;
    for (std::size_t choice = 0; choice < dims.size(); ++choice) {
      const std::size_t dim = static_cast<std::size_t>(dims[choice]);
      const LoopId id = ids[space.dims[dim]];
      const int loop = nest.extent[id] > 1 ? index_of(id) : kNone;
      // Dealing out loops of one index is the same for all of them.
      const auto same = [loop](const Parallel& each) { return each.loop == loop; };
      if (std::none_of(parallel[j].begin(), parallel[j].end(), same)) {
        parallel[j].push_back({loop, static_cast<std::int32_t>(choice)});
      }
    }
  }
  clusters = sizes_of(space, space.cluster, hardware.num_pes);
  mirror = find_mirror();
  for (int t = 0; t < kTensors; ++t) {
    words[t] = static_cast<double>(nest.words(static_cast<TensorId>(t)));
  }
}

int Problem::index_of(LoopId id) const {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (loops[i].id == id) return static_cast<int>(i);
  }
  return kNone;
}

int Problem::index_of_dim(std::size_t dim) const {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (loops[i].dim == dim) return static_cast<int>(i);
  }
  return kNone;
}

Loop Problem::make_loop(LoopId id, std::size_t dim) const {
  const Index extent = nest.extent[id];
  Loop loop{id, dim, extent, sizes_of(space, space.levels[0].tiles[dim], extent),
            sizes_of(space, space.levels[1].tiles[dim], extent)};
  if (loop.slides()) {
    loop.taps = nest.extent[id == kLoopP ? kLoopR : kLoopS];
    loop.stride = id == kLoopP ? nest.stride_y : nest.stride_x;
  }
  return loop;
}

std::vector<int> Problem::find_mirror() const {
  const auto alike = [this](int a, int b) {
    if (a == kNone || b == kNone) return a == b;
    const Loop &one = loops[static_cast<std::size_t>(a)],
               &other = loops[static_cast<std::size_t>(b)];
    return one.extent == other.extent && one.outer == other.outer && one.inner == other.inner &&
           one.taps == other.taps && one.stride == other.stride;
  };
  const int p = index_of(kLoopP), q = index_of(kLoopQ);
  const int r = index_of(kLoopR), s = index_of(kLoopS);
  if (p == kNone || !alike(p, q) || !alike(r, s)) return {};
  std::vector<int> mirrored(loops.size());
  std::iota(mirrored.begin(), mirrored.end(), 0);
  std::swap(mirrored[static_cast<std::size_t>(p)], mirrored[static_cast<std::size_t>(q)]);
  if (r != kNone) {
    std::swap(mirrored[static_cast<std::size_t>(r)], mirrored[static_cast<std::size_t>(s)]);
  }
  for (const std::vector<Parallel>& level : parallel) {
    for (const Parallel& each : level) {
      if (each.loop == kNone) continue;
      const int wanted = mirrored[static_cast<std::size_t>(each.loop)];
      const auto is_wanted = [wanted](const Parallel& other) { return other.loop == wanted; };
      if (std::none_of(level.begin(), level.end(), is_wanted)) return {};
    }
  }
  return mirrored;
}

Problem::Whole Problem::sum_whole() const {
  const auto product = [this](LoopSet set) {
    double all = 1;
    for (int d = 0; d < kLoops; ++d) {
      const auto id = static_cast<LoopId>(d);
      if (has(set, id) && index_of(id) == kNone) all *= static_cast<double>(nest.extent[id]);
    }
    return all;
  };
  const auto rows = [this](LoopId id, LoopId window, Index stride) {
    const Index all = touched_rows(nest.extent[id], nest.extent[window], stride);
    return index_of(id) == kNone ? static_cast<double>(all) : 1;
  };
  return {product(kInputSingles) * rows(kLoopP, kLoopR, nest.stride_y) *
              rows(kLoopQ, kLoopS, nest.stride_x),
          product(kFilterLoops), product(kOutputLoops), product(~LoopSet{0})};
}

}  // namespace gym::optimum
