#include "costs.hpp"

#include <algorithm>

namespace gym::hierarchy {

namespace {

// Words go down, or come up: those with an older value then go down again, or are added to it where
// it is (H4).
Flow flow_of(TensorId tensor, double parents, double children, double fresh,
             const Options& options) {
  if (tensor != kOutput) return {parents, 0, 0, children};
  const double older = parents - fresh;
  const bool back = options.psum != PartialSums::destination && parents > 0;
  return {older, parents, options.drains ? children : 0, back ? children * older / parents : 0};
}

// What passes the port of a parent may be more than the words (H6).
void pass_parent(TensorId tensor, const Moved& of, double Passed::* all, double Passed::* fresh,
                 Flow& flow) {
  const Passed &words = of.words_passed, &lines = of.lines_missed;
  const bool output = tensor == kOutput;
  flow.parent_reads = output ? words.*all - words.*fresh : words.*all;
  flow.parent_writes = output ? words.*all : 0;
  flow.misses = output ? 2 * lines.*all - lines.*fresh : lines.*all;
}

}  // namespace

Costs::Costs(const Accelerator& accelerator, const Options& options, const Traffic& traffic)
    : accelerator_(accelerator),
      options_(options),
      between_memories_(traffic.boundaries().size()),
      boundaries_(traffic.boundaries()),
      fetched_(accelerator.elements.size()),
      drained_(accelerator.elements.size()),
      steady_(accelerator.elements.size()),
      edge_(accelerator.elements.size()) {
  const auto expose = [&](std::size_t b, int child) {
    if (child == accelerator.mac()) return;
    const TensorId tensor = boundaries_[b].tensor;
    if (tensor == kOutput) drained_[child].push_back(b);
    if (tensor != kOutput || options.psum == PartialSums::bias) fetched_[child].push_back(b);
  };
  for (std::size_t b = 0; b < between_memories_; ++b) {
    const auto& [tensor, parent, child] = boundaries_[b];
    const auto end_at = [&, tensor = tensor](int element) {
      return End{memory(element).pool, static_cast<double>(memory(element).width[tensor])};
    };
    parents_.push_back(end_at(parent));
    children_.push_back(child == accelerator.mac() ? End{} : end_at(child));
    expose(b, child);
  }
  for (const auto& [b, fanout] : traffic.crossings()) {
    const auto [tensor, parent, child] = boundaries_[b];
    boundaries_.push_back({tensor, parent, fanout});
    parents_.push_back({});
    children_.push_back({fanout, parents_[b].width});
    expose(parents_.size() - 1, child);
  }
  for (const Element& each : accelerator.elements) {
    const Memory& memory = each.memory;
    timed_ = timed_ || each.fanout.bw < kUnlimited ||
             (each.is_memory && (memory.read_bw < kUnlimited || memory.write_bw < kUnlimited ||
                                 memory.cache.miss_cycles > 0 || memory.launch_cycles > 0));
  }
}

void Costs::count(const std::vector<Moved>& moved, std::vector<Flows>& found) const {
  found.assign(boundaries_.size(), {});
  for (std::size_t b = 0; b < found.size(); ++b) {
    const TensorId tensor = boundaries_[b].tensor;
    Options options = options_;
    // What leaves a memory crosses a fan-out, whether it counts as a read or not.
    options.drains = options.drains || b >= between_memories_;
    const auto flow = [&](const std::array<std::int64_t, kSides>& words, Side parent, Side child,
                          std::int64_t fresh) {
      const double sides[] = {static_cast<double>(words[parent]),
                              static_cast<double>(words[child])};
      return flow_of(tensor, sides[0], sides[1], static_cast<double>(fresh), options);
    };
    const Moved& of = moved[b];
    found[b].all = flow(of.words, kParents, kChildren, of.fresh);
    found[b].first = flow(of.words, kFirstParent, kFirstChild, of.fresh_first);
    found[b].carried = static_cast<double>(of.words[kChildren]) +
                       (tensor == kOutput ? found[b].all.child_writes : 0);
    pass_parent(tensor, of, &Passed::all, &Passed::fresh, found[b].first);
    Flow edge = flow(of.edge, kFirstParent, kFirstChild, of.edge[kFirstParent]);
    pass_parent(tensor, of, &Passed::edge, &Passed::edge, edge);
    (tensor == kOutput ? found[b].drain : found[b].fetch) = edge;
    if (tensor == kOutput && options_.psum == PartialSums::bias) {
      const Flow begin = flow(of.begin, kFirstParent, kFirstChild, 0);
      found[b].fetch = {of.words_passed.begin, 0, 0, begin.child_writes, of.lines_missed.begin};
    }
  }
}

void Costs::pass(std::size_t boundary, const Flow& flow, double share_of_parent,
                 double share_of_child, Ports& ports) const {
  const auto at = [&](const End& end, double share, double reads, double writes) {
    Bits& bits = ports[static_cast<std::size_t>(end.pool)];
    bits.read += reads * (share * end.width);
    bits.written += writes * (share * end.width);
    return &bits;
  };
  const End &parent = parents_[boundary], &child = children_[boundary];
  if (parent.pool >= 0) {
    Bits* outside = at(parent, share_of_parent, flow.parent_reads, flow.parent_writes);
    if (flow.misses > 0) {
      outside->waits += share_of_parent * flow.misses * memory(parent.pool).cache.miss_cycles;
    }
  }
  if (child.pool >= 0) at(child, share_of_child, flow.child_reads, flow.child_writes);
}

std::array<double, 2> Costs::port_cycles(int element, const Bits& bits) const {
  const Memory& of = memory(element);
  const auto [out, in, waits] = bits;
  if (!accelerator_.elements[element].is_memory) {
    return {(out + in) / accelerator_.elements[element].fanout.bw, 0};
  }
  if (of.one_port) return {waits + (out + in) / of.read_bw, 0};
  return {waits + out / of.read_bw, waits + in / of.write_bw};
}

double Costs::busiest(const Ports& ports) const {
  double cycles = 0;
  for (int e = 0; e < accelerator_.rest(); ++e) {
    const auto [out, in] = port_cycles(e, ports[e]);
    cycles = std::max({cycles, out, in});
  }
  return cycles;
}

// The first fetch, or the last drain, of each child in turn; its bits leave the steady state.
double Costs::exposed(const std::vector<Flows>& flows, const Crossed& crossed, Flow Flows::* part) {
  double cycles = 0;
  for (const std::vector<std::size_t>& of_child : crossed) {
    if (of_child.empty()) continue;
    edge_.assign(edge_.size(), {});
    for (const std::size_t b : of_child) {
      pass(b, flows[b].*part, 1, 1, edge_);
      pass(b, flows[b].*part, -1, -1, steady_);
    }
    cycles += busiest(edge_);
  }
  return cycles;
}

double Costs::energy_pj(const std::vector<Flows>& flows, double macs) const {
  double energy = macs * accelerator_.mac_pj;
  const auto access = [&](const End& end, double reads, double writes) {
    const Memory& pool = memory(end.pool);
    energy += end.width * (reads * pool.read_pj + writes * pool.write_pj);
  };
  for (std::size_t b = 0; b < between_memories_; ++b) {
    const Flow& flow = flows[b].all;
    access(parents_[b], flow.parent_reads, flow.parent_writes);
    if (children_[b].pool >= 0) access(children_[b], flow.child_reads, flow.child_writes);
    const double bits = flows[b].carried * parents_[b].width;
    const int last = std::min(boundaries_[b].child, accelerator_.rest());
    for (int e = boundaries_[b].parent + 1; e < last; ++e) {
      if (!accelerator_.elements[e].is_memory) energy += bits * accelerator_.elements[e].fanout.pj;
    }
  }
  return energy;
}

double Costs::needs(const Nest& nest, const Traffic& traffic, int element, int tensor) const {
  double bits = 0;
  for (int e = element; e < accelerator_.rest(); ++e) {
    if (!accelerator_.elements[e].is_memory || memory(e).pool != element) continue;
    for (const TensorId t : {kInput, kFilter, kOutput}) {
      if (!memory(e).keeps[t] || (tensor != kTensors && tensor != t)) continue;
      bits += static_cast<double>(traffic.tile_words(nest, t, e)) *
              static_cast<double>(memory(e).width[t]) * memory(e).buffers;
    }
  }
  return bits;
}

double Costs::missing(const Nest& nest, const Traffic& traffic) const {
  double missing = 0;
  // The first memory has room for all.
  for (int e = 1; e < accelerator_.rest(); ++e) {
    for (int t = 0; t <= kTensors; ++t) {
      const double capacity = memory(e).capacity[t];
      if (capacity == kUnlimited) continue;
      missing += std::max(0.0, needs(nest, traffic, e, t) - capacity) / capacity;
    }
  }
  return missing;
}

// Of a flow, where `passed` is what passes ports.
Price Costs::price(std::size_t boundary, const Flow& flow, const Flow& passed,
                   double carried) const {
  std::vector<Flows> flows(boundaries_.size());
  flows[boundary].all = flow;
  flows[boundary].carried = carried;
  Ports ports(accelerator_.elements.size());
  pass(boundary, passed, 1, 1, ports);
  Price price{energy_pj(flows, 0), {}};
  for (int e = 0; e < accelerator_.rest(); ++e) {
    price.port_cycles.push_back(port_cycles(e, ports[e]));
  }
  return price;
}

std::vector<Prices> Costs::prices(const Traffic& traffic) const {
  std::vector<Prices> found;
  const Flow reads{1}, writes{0, 1}, drains{0, 0, 1}, fills{0, 0, 0, 1};
  for (std::size_t b = 0; b < between_memories_; ++b) {
    const auto [words, lines] = traffic.slowdown(b);
    found.push_back(
        {boundaries_[b],
         {price(b, reads, {words, 0, 0, 0, lines}, 0), price(b, writes, {0, words, 0, 0, lines}, 0),
          price(b, drains, drains, 0), price(b, fills, fills, 0), price(b, {}, {}, 1)}});
  }
  for (std::size_t b = between_memories_; b < boundaries_.size(); ++b) {
    const auto& [of, fanout] = traffic.crossings()[b - between_memories_];
    const auto& [tensor, parent, child] = boundaries_[of];
    const bool back = tensor != kOutput || options_.psum != PartialSums::destination;
    const Price none = price(b, {}, {}, 0);
    found.push_back(
        {{tensor, fanout, child},
         {back ? price(b, {}, fills, 0) : none, price(b, {}, drains, 0), none, none, none}});
  }
  return found;
}

std::array<std::vector<std::array<double, 2>>, kTensors> Costs::roundings(
    const Traffic& traffic) const {
  std::array<std::vector<std::array<double, 2>>, kTensors> found;
  for (std::size_t b = 0; b < between_memories_; ++b) {
    if (boundaries_[b].parent != 0) continue;
    const TensorId tensor = boundaries_[b].tensor;
    const auto [words, lines] = traffic.rounding(b);
    const bool output = tensor == kOutput;
    const Flow passed{output ? 0 : words, output ? words : 0, 0, 0, lines};
    found[tensor] = price(b, {}, passed, 0).port_cycles;
  }
  return found;
}

Figures Costs::figures(const std::vector<Flows>& flows, std::span<const std::int64_t> used,
                       std::span<const std::int64_t> steps, std::int64_t output_tiles,
                       double compute_cycles, double macs) {
  Figures figures{};
  figures.compute_cycles = compute_cycles;
  figures.energy_pj = energy_pj(flows, macs);
  if (timed_) {
    steady_.assign(steady_.size(), {});
    // Without exposed transfers all bits count, spread over all instances.
    const auto share = [&](int element) {
      const bool spread = !options_.exposed && element != accelerator_.mac();
      return spread ? 1.0 / static_cast<double>(used[element]) : 1.0;
    };
    for (std::size_t b = 0; b < flows.size(); ++b) {
      pass(b, options_.exposed ? flows[b].first : flows[b].all, share(boundaries_[b].parent),
           share(boundaries_[b].child), steady_);
    }
    if (options_.exposed) {
      figures.first_cycles = exposed(flows, fetched_, &Flows::fetch);
      const double again = memory(0).refill * static_cast<double>(output_tiles - 1);
      if (again > 0) figures.first_cycles += again * figures.first_cycles;
      figures.last_cycles = exposed(flows, drained_, &Flows::drain);
    }
    int outside = 0;
    for (int e = 1; e < accelerator_.rest(); ++e) {
      if (!accelerator_.elements[e].is_memory) continue;
      if (memory(e).launch_cycles > 0) {
        steady_[memory(outside).pool].waits +=
            memory(e).launch_cycles * static_cast<double>(steps[e]);
      }
      outside = e;
    }
    figures.port_cycles = busiest(steady_);
  }
  figures.latency_cycles =
      figures.first_cycles + std::max(compute_cycles, figures.port_cycles) + figures.last_cycles;
  figures.energy_pj += accelerator_.leak_pj * figures.latency_cycles;
  return figures;
}

}  // namespace gym::hierarchy
