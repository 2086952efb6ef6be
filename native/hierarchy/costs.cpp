#include "costs.hpp"

#include <algorithm>

namespace gym::hierarchy {

namespace {

Flow down(double parents, double children) { return {parents, 0, 0, children}; }

// Words come up, and those with an older value go down again or are added to it where it is (H4).
Flow up(double parents, double children, double fresh, const Options& options) {
  const double older = parents - fresh;
  const bool back = options.psum != PartialSums::destination && parents > 0;
  return {older, parents, options.drains ? children : 0, back ? children * older / parents : 0};
}

}  // namespace

Costs::Costs(const Accelerator& accelerator, const Options& options,
             const std::vector<Boundary>& boundaries)
    : accelerator_(accelerator), options_(options), boundaries_(boundaries) {
  for (const Element& each : accelerator.elements) {
    const Memory& memory = each.memory;
    timed_ =
        timed_ || (each.is_memory && (memory.read_bw < kUnlimited || memory.write_bw < kUnlimited));
  }
}

std::vector<Flows> Costs::flows(const std::vector<Moved>& moved) const {
  std::vector<Flows> found(boundaries_.size());
  for (std::size_t b = 0; b < found.size(); ++b) {
    const auto& [words, edge, begin, fresh, fresh_first] = moved[b];
    const auto real = [](std::int64_t count) { return static_cast<double>(count); };
    const double all[] = {real(words[kParents]), real(words[kChildren])};
    const double first[] = {real(words[kFirstParent]), real(words[kFirstChild])};
    const bool memory = boundaries_[b].child != accelerator_.mac();
    if (boundaries_[b].tensor != kOutput) {
      found[b].all = down(all[0], all[1]);
      found[b].carried = all[1];
      found[b].first = down(first[0], first[1]);
      if (memory) found[b].fetch = down(real(edge[kFirstParent]), real(edge[kFirstChild]));
      continue;
    }
    found[b].all = up(all[0], all[1], real(fresh), options_);
    found[b].carried = all[1] + found[b].all.child_writes;
    found[b].first = up(first[0], first[1], real(fresh_first), options_);
    if (!memory) continue;
    found[b].drain.parent_writes = real(edge[kFirstParent]);
    found[b].drain.child_reads = options_.drains ? real(edge[kFirstChild]) : 0;
    if (options_.psum == PartialSums::bias) {
      found[b].fetch = down(real(begin[kFirstParent]), real(begin[kFirstChild]));
    }
  }
  return found;
}

Costs::Bits Costs::no_bits() const {
  const std::vector<double> none(accelerator_.elements.size(), 0.0);
  return {none, none};
}

void Costs::pass(const Boundary& boundary, const Flow& flow, double share_of_parent,
                 double share_of_child, Bits& bits) const {
  const auto at = [&](int element, double share, double reads, double writes) {
    const double width = share * static_cast<double>(memory(element).width[boundary.tensor]);
    bits.read[memory(element).pool] += reads * width;
    bits.written[memory(element).pool] += writes * width;
  };
  at(boundary.parent, share_of_parent, flow.parent_reads, flow.parent_writes);
  if (boundary.child == accelerator_.mac()) return;
  at(boundary.child, share_of_child, flow.child_reads, flow.child_writes);
}

double Costs::busiest(const Bits& bits) const {
  double cycles = 0;
  for (std::size_t e = 0; e < bits.read.size(); ++e) {
    if (!accelerator_.elements[e].is_memory) continue;
    const Memory& ports = accelerator_.elements[e].memory;
    const double out = bits.read[e], in = bits.written[e];
    cycles = std::max(cycles, ports.one_port ? (out + in) / ports.read_bw
                                             : std::max(out / ports.read_bw, in / ports.write_bw));
  }
  return cycles;
}

// The first fetch, or the last drain, of each child in turn; its bits leave the steady state.
double Costs::exposed(const std::vector<Flows>& flows, Flow Flows::* part, Bits& steady) const {
  double cycles = 0;
  for (int child = 0; child < accelerator_.rest(); ++child) {
    Bits bits = no_bits();
    for (std::size_t b = 0; b < flows.size(); ++b) {
      if (boundaries_[b].child != child) continue;
      pass(boundaries_[b], flows[b].*part, 1, 1, bits);
      pass(boundaries_[b], flows[b].*part, -1, -1, steady);
    }
    cycles += busiest(bits);
  }
  return cycles;
}

// Without exposed transfers all bits count, spread over all instances.
double Costs::port_cycles(const std::vector<Flows>& flows,
                          std::span<const std::int64_t> used) const {
  Bits bits = no_bits();
  for (std::size_t b = 0; b < flows.size(); ++b) {
    const auto& [tensor, parent, child] = boundaries_[b];
    const auto share = [&](int element) {
      return element == accelerator_.mac() ? 1.0 : 1.0 / static_cast<double>(used[element]);
    };
    pass(boundaries_[b], flows[b].all, share(parent), share(child), bits);
  }
  return busiest(bits);
}

double Costs::energy_pj(const std::vector<Flows>& flows, double macs) const {
  double energy = macs * accelerator_.mac_pj;
  const auto access = [&](int element, int tensor, double reads, double writes) {
    const double width = static_cast<double>(memory(element).width[tensor]);
    energy += width * (reads * pool(element).read_pj + writes * pool(element).write_pj);
  };
  for (std::size_t b = 0; b < flows.size(); ++b) {
    const auto& [tensor, parent, child] = boundaries_[b];
    const Flow& flow = flows[b].all;
    access(parent, tensor, flow.parent_reads, flow.parent_writes);
    if (child != accelerator_.mac()) access(child, tensor, flow.child_reads, flow.child_writes);
    const double bits = flows[b].carried * static_cast<double>(memory(parent).width[tensor]);
    for (int e = parent + 1; e < std::min(child, accelerator_.rest()); ++e) {
      if (!accelerator_.elements[e].is_memory) energy += bits * accelerator_.elements[e].fanout.pj;
    }
  }
  return energy;
}

double Costs::tile_bits(const Nest& nest, const Traffic& traffic, int element, int tensor) const {
  const Memory& of = memory(element);
  if (!of.keeps[tensor]) return 0;
  return static_cast<double>(traffic.tile_words(nest, static_cast<TensorId>(tensor), element)) *
         static_cast<double>(of.width[tensor]) * of.buffers;
}

std::vector<double> Costs::needs(const Nest& nest, const Traffic& traffic) const {
  std::vector<double> bits(accelerator_.elements.size(), 0.0);
  for (int e = 0; e < accelerator_.rest(); ++e) {
    if (!accelerator_.elements[e].is_memory) continue;
    for (int t = 0; t < kTensors; ++t) bits[memory(e).pool] += tile_bits(nest, traffic, e, t);
  }
  return bits;
}

bool Costs::fits(const Nest& nest, const Traffic& traffic) const {
  const std::vector<double> bits = needs(nest, traffic);
  // The first memory has room for all.
  for (int p = 1; p < accelerator_.rest(); ++p) {
    if (!accelerator_.elements[p].is_memory) continue;
    if (bits[p] > memory(p).capacity) return false;
    for (int t = 0; t < kTensors; ++t) {
      if (memory(p).capacity_of[t] == kUnlimited) continue;
      double of_tensor = 0;
      for (int e = p; e < accelerator_.rest(); ++e) {
        const bool part = accelerator_.elements[e].is_memory && memory(e).pool == p;
        of_tensor += part ? tile_bits(nest, traffic, e, t) : 0;
      }
      if (of_tensor > memory(p).capacity_of[t]) return false;
    }
  }
  return true;
}

Figures Costs::figures(const std::vector<Flows>& flows, std::span<const std::int64_t> used,
                       double compute_cycles, double macs) const {
  Figures figures{};
  figures.compute_cycles = compute_cycles;
  figures.energy_pj = energy_pj(flows, macs);
  if (timed_ && options_.exposed) {
    Bits steady = no_bits();
    for (std::size_t b = 0; b < flows.size(); ++b) {
      pass(boundaries_[b], flows[b].first, 1, 1, steady);
    }
    figures.first_cycles = exposed(flows, &Flows::fetch, steady);
    figures.last_cycles = exposed(flows, &Flows::drain, steady);
    figures.port_cycles = busiest(steady);
  } else if (timed_) {
    figures.port_cycles = port_cycles(flows, used);
  }
  figures.latency_cycles =
      figures.first_cycles + std::max(compute_cycles, figures.port_cycles) + figures.last_cycles;
  return figures;
}

}  // namespace gym::hierarchy
