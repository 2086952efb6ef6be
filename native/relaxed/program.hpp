// The least cost over all tiles of all memories and all orders of their loops, relaxed: a dynamic
// program from the MACs outwards (docs/optimum_memories.md).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "charges.hpp"

namespace gym::relaxed {

class Program {
 public:
  // Of a box with such tiles of the first memory, and with these units, if any are given and the
  // ratio is less than 1.
  Program(const Problem& problem, double ratio, bool dividing, const std::vector<Counts>& units,
          const std::array<Counts, 2>& outer);

  std::int64_t states() const { return grid_.states(); }

  // Each mapping of a box within some limits is of a kind, and none of a kind costs less than this;
  // infinite if there is none. Kinds are told apart by what the loops of the first memory find
  // open, what rests over them, and what they leave open; they are the same for all weights.
  std::vector<double> least(const Box& box, const Weights& weights, const Limits& limits);

  // The loops of a mapping that costs about the least of these; none if there is none.
  std::vector<hierarchy::MappedLoop> trace(const Box& box, const Weights& weights,
                                           const Limits& limits);

 private:
  using Bits = std::uint32_t;  // one for each boundary

  // Boundaries with words that have not moved yet: all of them, or, where loops have closed it, the
  // share that rests in these loops (P15). `since` has, by tensor, the memory of this share + 1.
  struct Open {
    Bits whole = 0, part = 0;
    std::array<std::uint8_t, kTensors> since{};

    Bits any() const { return whole | part; }
    auto operator<=>(const Open&) const = default;
  };
  // What it costs that loops of a memory close all that is open of a tensor.
  using Closing = std::map<Open, Table>;

  // Where a cost comes from: an entry of the tables before, and the tensor that the innermost loops
  // between do not move (kTensors: any).
  struct Source {
    Open open;
    std::int32_t state;
    std::uint8_t resting;
  };

  // The least costs of all boundaries but the open ones, by what an element gets.
  struct Costs {
    Table cost;
    std::vector<Source> from;  // kept for traces alone
  };
  using Tables = std::map<Open, Costs>;

  enum class Stage { loops, taps, room, units };
  struct Passed {
    Stage stage;
    int element;
    std::map<Open, std::vector<Source>> from;
  };

  // The least cost of each kind; if traced, of all of them.
  std::vector<double> run(const Box& box, const Weights& weights, const Limits& limits);
  void keep_outer();
  void pass_taps(int memory);
  void pass_loops(int memory);
  std::vector<double> least_of_kinds() const;
  double left_open(const Costs& costs, const Open& open) const;
  void enter(int memory, const Weights& weights, const Limits& limits);
  void share(int fanout, const Units& units);
  void use_macs();
  void share(const Costs& from, Costs& to, int dim, std::int64_t least, std::int64_t most) const;
  void begin();
  void end(Stage stage, int element);

  Closing closing_at(int memory) const;
  Table closing(TensorId tensor, const Open& open, int memory) const;
  void close(Costs& costs, const Open& open, const Closing& closing) const;
  Open left_of(const Open& open, int memory) const;
  Open only(const Open& open, Bits bits) const;
  static Open both(Open open, const Open& other);
  void sweep(Costs& costs, LoopSet dims) const;
  Costs unreachable() const;
  // Takes the lower costs of some states, in a row from one of either.
  static void lower(Costs& costs, std::int64_t at, const Costs& others, std::int64_t from,
                    std::int64_t count);
  static void lower_traced(Costs& costs, std::int64_t at, const Costs& others, std::int64_t from,
                           std::int64_t count);
  template <typename Others>
  static void lower(Tables& tables, const Open& open, Others&& others);
  std::size_t boundaries() const { return problem_.boundaries.size(); }
  Bits of_tensor(TensorId tensor) const;
  std::array<std::vector<Class>, kLoops> sizes_at(int memory) const;
  double units_above(int element) const;
  std::vector<hierarchy::MappedLoop> nest() const;
  std::vector<Counts> tiles(const std::vector<std::int64_t>& left) const;

  const Problem& problem_;
  Grid grid_;
  Charges charges_;
  const Box* box_ = nullptr;
  Tables tables_;
  bool traced_ = false;
  std::vector<Passed> passed_;
  Source last_{};
  // By tensor and memory: the share that rests at most.
  std::array<std::vector<double>, kTensors> resting_;
};

}  // namespace gym::relaxed
