// What the words that move cost: accesses, time, energy, capacity (H4, H6, H7).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "traffic.hpp"

namespace gym::hierarchy {

// Words that two holders read and write for each other. Fills of outputs may be fractions.
struct Flow {
  double parent_reads = 0, parent_writes = 0, child_reads = 0, child_writes = 0;
  double misses = 0;  // lines of the parent, both ways
};

// All flows of a boundary, and those of the first parent and child.
struct Flows {
  Flow all, first, fetch, drain;  // of `first`, what comes before the first step and after the last
  double carried = 0;             // words that children take in and send up
};

// What one access costs: energy, and cycles at the ports of each element, out and in; one port for
// both ways is the first.
struct Price {
  double energy_pj = 0;
  std::vector<std::array<double, 2>> port_cycles;
};

// Of an access of each kind, in the order of Flow, and of a word that is carried, at least (H10.8).
// Words that cross a fan-out are those of a parent there.
struct Prices {
  Boundary between;
  std::array<Price, 5> kinds;
};

struct Figures {
  double latency_cycles, compute_cycles;
  double first_cycles, last_cycles;  // exposed, what is filled again included
  double port_cycles;                // of the busiest port
  double energy_pj;
};

class Costs {
 public:
  Costs(const Accelerator& accelerator, const Options& options, const Traffic& traffic);

  // Whether a bandwidth is limited.
  bool timed() const { return timed_; }

  void count(const std::vector<Moved>& moved, std::vector<Flows>& flows) const;
  // Bits that tiles of a tensor, or of all (kTensors), take of the physical memory of an element.
  double needs(const Nest& nest, const Traffic& traffic, int element, int tensor) const;
  bool fits(const Nest& nest, const Traffic& traffic) const { return missing(nest, traffic) == 0; }
  // The sum of the shares of all capacities that the tiles exceed them by.
  double missing(const Nest& nest, const Traffic& traffic) const;
  // By boundary, then by crossing.
  std::vector<Prices> prices(const Traffic& traffic) const;
  // Cycles of each port besides, for a word of each tensor that leaves or enters the first memory.
  std::array<std::vector<std::array<double, 2>>, kTensors> roundings(const Traffic& traffic) const;
  // `used` are the instances of each element, wanted where transfers are not exposed; `steps` are
  // those of each element that launches; `output_tiles` count where the first memory refills.
  Figures figures(const std::vector<Flows>& flows, std::span<const std::int64_t> used,
                  std::span<const std::int64_t> steps, std::int64_t output_tiles,
                  double compute_cycles, double macs);

 private:
  // Through the ports of one physical memory, or a fan-out.
  struct Bits {
    double read = 0, written = 0;
    double waits = 0;  // cycles
  };
  // Where words of a boundary end: a physical memory or a fan-out, none at the MAC or above a
  // crossing, and bits of a word.
  struct End {
    int pool = -1;
    double width = 0;
  };
  using Ports = std::vector<Bits>;                        // by element
  using Crossed = std::vector<std::vector<std::size_t>>;  // boundaries by child

  void pass(std::size_t boundary, const Flow& flow, double share_of_parent, double share_of_child,
            Ports& ports) const;
  std::array<double, 2> port_cycles(int element, const Bits& bits) const;
  double busiest(const Ports& ports) const;
  double exposed(const std::vector<Flows>& flows, const Crossed& crossed, Flow Flows::* part);
  double energy_pj(const std::vector<Flows>& flows, double macs) const;
  Price price(std::size_t boundary, const Flow& flow, const Flow& passed, double carried) const;

  const Memory& memory(int element) const { return accelerator_.elements[element].memory; }

  const Accelerator& accelerator_;
  const Options& options_;
  std::size_t between_memories_;         // that many boundaries, and then the crossings
  std::vector<Boundary> boundaries_;     // the fan-out of a crossing is its child
  std::vector<End> parents_, children_;  // of each
  Crossed fetched_, drained_;            // of the flows outside the steady state
  Ports steady_, edge_;
  bool timed_ = false;
};

}  // namespace gym::hierarchy
