// Words that move between consecutive holders of each tensor (H3 to H5).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "factors.hpp"
#include "sliding.hpp"

namespace gym::hierarchy {

// Two consecutive holders of a tensor: memories, or a memory and the MAC.
struct Boundary {
  TensorId tensor;
  int parent, child;
};

// A fan-out of limited bandwidth that the words of a boundary cross.
struct Crossing {
  std::size_t boundary;
  int fanout;
};

// Of one word that a boundary moves, at least: words that pass the port of its parent, and lines
// that miss (H10.8).
struct Slowdown {
  double words = 1, lines = 0;
};

// Whose words: those of all instances of the parent, of all units of the child, of the first
// instance of the parent, of the first unit of the child.
enum Side { kParents, kChildren, kFirstParent, kFirstChild, kSides };

// At the port of the first parent: of all steps, outside the steady state, and first arrivals.
struct Passed {
  double all = 0, edge = 0, begin = 0, fresh = 0;

  Passed times(double factor) const {
    return {all * factor, edge * factor, begin * factor, fresh * factor};
  }
};

// Inputs and filters move down, outputs up.
struct Moved {
  std::array<std::int64_t, kSides> words{};
  // Of the first parent and child, outside the steady state: the first fetch, or, of outputs, what
  // leaves after the last step; and of outputs what the first step would find with a bias.
  std::array<std::int64_t, kSides> edge{}, begin{};
  // Arrivals of outputs that find no older value, at all parents and at the first (H4).
  std::int64_t fresh = 0, fresh_first = 0;
  // What passes the port of the first parent: words, with those that fill beats and gaps, and lines
  // that miss (H6).
  Passed words_passed, lines_missed;
};

class Traffic {
 public:
  Traffic(const Shape& shape, const Accelerator& accelerator, const Options& options);

  const std::vector<Boundary>& boundaries() const { return boundaries_; }
  const std::vector<Crossing>& crossings() const { return crossings_; }
  Slowdown slowdown(std::size_t boundary) const;
  // What is more than that of a word of those that each move once, as runs end within pieces.
  Slowdown rounding(std::size_t boundary) const;

  // The same order: the boundaries, then the crossings, whose children are the fan-outs. Only where
  // they are `timed` are first parents and children counted, of crossings nothing else.
  void count(const Nest& nest, bool timed, std::vector<Moved>& moved);

  // Steps of an element.
  std::int64_t steps(int element);
  // Tiles of outputs that the first memory's loops make (H6).
  std::int64_t output_tiles();
  // Cycles that unit 0 computes (H5), where a step of a memory may take some at least (H6).
  double compute_cycles(const Nest& nest);
  // Words of a tensor in the largest box that an element gets (H7).
  std::int64_t tile_words(const Nest& nest, TensorId tensor, int element) const;
  // Instances of an element that are ever at work, along some dimensions.
  std::int64_t instances(int element, LoopSet dims);

 private:
  // Words of a pair axis, by the factors of its two dimensions.
  struct Known {
    const Factor *outputs, *taps;
    bool halo, gaps;
    std::int64_t words;
  };

  struct Axis {
    LoopId output, window;
    std::int64_t stride, dilation;
    SlidingAxis sliding;
    std::vector<Known> known;

    std::int64_t span(std::int64_t outputs, std::int64_t taps) const;
  };

  using Prefixes = std::array<Prefix*, kLoops>;  // of the chain of each dimension

  // Of one tensor, between two holders, of one side: what each dimension contributes.
  struct Sum {
    TensorId tensor;
    Side side;
    Prefixes prefix;
    std::array<const Factor*, kLoops> factor{};
    std::int64_t piece = 1;  // a run of words counts as pieces, of so many words (H6)
    bool gaps = false;       // and a tile with all between its rows and columns
  };

  // Of one kind: MACs of unit 0, and how often.
  struct Steps {
    std::int64_t macs, times;
  };

  // Words of a beat, and of a line that may miss (0: none does), of what a boundary's parent
  // stores.
  struct Pieces {
    std::int64_t beat = 1, line = 0;
    bool gaps = false;
  };

  void open(const Chain& chain, LoopId dim);
  static Axis axis_of(const Shape& shape, std::size_t which, LoopId output, LoopId window);
  Sum sum_of(const Nest& nest, const Boundary& boundary, Side side);
  Units units(const Loop& loop, LoopId dim, const Boundary& boundary) const;
  bool separate(const Loop& loop, LoopId dim, const Boundary& boundary) const;
  void set(Sum& sum, LoopId dim, Cut cut);
  void set(Sum& sum, Cut cut);
  // Without `halo`, tiles of a sliding axis that have moved share nothing.
  std::int64_t product(const Sum& sum, bool halo = true);
  std::int64_t product_of(Sum& sum, Cut cut);
  std::int64_t in_pieces(const Sum& sum, std::int64_t words) const;
  std::int64_t axis_words(Axis& axis, const Sum& sum, bool halo);
  static std::int64_t shared(const Axis& axis, const Factor& outputs, const Factor& taps, bool halo,
                             bool gaps);
  std::int64_t words(const Nest& nest, const Boundary& boundary, Sum& sum);
  bool forgets(const Boundary& boundary) const;
  void add_first(const Nest& nest, const Boundary& boundary, bool alone, Sum& parent, Moved& moved);
  std::int64_t distinct(Sum sum);
  void add_passed(const Nest& nest, const Boundary& boundary, const Pieces& pieces, Sum& parent,
                  Moved& moved);
  void add_crossing(const Nest& nest, const Boundary& boundary, int fanout, bool timed,
                    Moved& moved);
  Passed pieces_passed(const Nest& nest, const Boundary& boundary, std::int64_t piece, bool gaps,
                       Sum& sum);
  Pieces pieces_of(const Boundary& boundary) const;
  std::vector<Steps> kinds(const Sum& sum, LoopSet unmoved) const;
  Sum steps_of(int element);
  double paced_cycles(const Nest& nest, int element);

  bool slides(TensorId tensor, LoopId dim) const { return tensor == kInput && has(sliding_, dim); }
  bool is_single(TensorId tensor, LoopId dim) const { return has(singles_[tensor], dim); }

  const Shape& shape_;
  const Accelerator& accelerator_;
  const Options& options_;
  std::vector<Boundary> boundaries_;
  std::vector<Pieces> pieces_;  // of each
  std::vector<Crossing> crossings_;
  // The dimensions of pair axes, and those that are axes of a tensor by themselves.
  LoopSet sliding_;
  std::array<LoopSet, kTensors> singles_;
  // Those of more than one index, and their partners in a pair: the others change nothing.
  std::vector<LoopId> dims_;
  std::int64_t macs_ = 1, outputs_ = 1;  // they wrap around where a mapping overflows
  std::int64_t first_macs_ = 1;          // those of unit 0
  std::array<Factors, kLoops> factors_;
  // Of the loops above each element, for all units together and for the first.
  std::array<Prefixes, kMaxElements + 2> all_units_{}, first_units_{};
  std::array<Axis, 2> axes_;
};

}  // namespace gym::hierarchy
