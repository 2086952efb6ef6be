// What the loops of the top level contribute to a step, in several mappings: see ../volumes.hpp.
#pragma once

#include "below.hpp"

namespace gym::maestro::wide {
namespace {

// What a loop contributes to the volumes of a step.
struct Factor {
  Wide outputs, macs, cycles, steps, busy;

  GYM_INLINE Factor times(const Factor& other) const {
    return {outputs * other.outputs, macs * other.macs, cycles * other.cycles, steps * other.steps,
            busy * other.busy};
  }
};

// Words fetched in a step, and the cycles that takes.
struct Ingress {
  Wide input, filter, delay;
};

// A loop by its place among those that move. Others come before them, and change nothing.
struct Mover {
  Wide steady, edge, spatial;
  std::array<Factor, 2> factor;    // before the edge and there
  std::array<Ingress, 2> ingress;  // after it moved, before the dealt loop's end and there
};

// S7.3: cycles a network needs for some words.
GYM_INLINE Wide delay(const Hardware& hardware, Wide words) {
  const double latency = real(hardware.noc_latency);
  return ceil_div(words, number<Wide>(hardware.noc_bw)) + (latency - 1);
}

class Movers {
 public:
  // `spread` is before the dealt loop's end, and there.
  GYM_INLINE Movers(const Problem& problem, const Level& level, const Below& below,
                    const std::array<Spread, 2>& spread)
      : problem_(problem), level_(level), below_(below), one_(number<Wide>(1)) {
    reach();
    const Fetches& fetched = spread[0].fetched;
    first_ = ingress(whole_[kInput] * fetched.resident[kInput],
                     whole_[kFilter] * fetched.resident[kFilter]);
    still_ = {one_, one_, one_, one_, one_};
    for (int d = problem.open; d < problem.loops; ++d) {
      still_ = still_.times(factor(d, states_[d].partial));
    }
    list(spread);
  }

  int count() const { return problem_.open; }
  // Outermost first.
  GYM_INLINE const Mover& operator[](int r) const { return movers_[r]; }
  // What all loops contribute that are never cut.
  GYM_INLINE const Factor& still() const { return still_; }
  // Before any loop has moved.
  GYM_INLINE const Ingress& first() const { return first_; }

 private:
  // Words of whole fetches, and the innermost loop of each tensor that moves.
  GYM_INLINE void reach() {
    for (const TensorId id : {kInput, kFilter}) {
      whole_[id] = one_;
      restarting_[id] = number<Wide>(-1);
    }
    for (int d = 0; d < problem_.loops; ++d) {
      const LevelLoop& loop = level_.loop[d];
      states_[d] = states_of(loop, level_.units, loop.extent);
      words_[d] =
          select(loop.spatial, one_, select(states_[d].partial, loop.input.edge, loop.input.full));
      for (const TensorId id : {kInput, kFilter}) {
        if (!problem_.loop[d].in[id]) continue;
        whole_[id] *= words_[d];
        const Wide place = select(states_[d].unrolled, number<Wide>(-1), loop.place);
        restarting_[id] = most(restarting_[id], place);
      }
    }
  }

  GYM_INLINE Factor factor(int d, WideFlag at_edge) const {
    const LevelLoop& loop = level_.loop[d];
    const bool in_output = problem_.loop[d].in[kOutput];
    const Tile& tile = in_output ? loop.output : loop.input;
    const Wide size = select(loop.spatial, one_, select(at_edge, tile.edge, tile.full));
    const Part part = choose(at_edge, below_.part(d, 1), below_.part(d, 0));
    return {in_output ? size : one_, size, select(loop.spatial, one_, part.cycles),
            select(loop.spatial, one_, part.steps), select(loop.spatial, one_, part.busy)};
  }

  // S6.3: what is fetched after loop d has moved.
  GYM_INLINE Ingress fetch(int d, const Fetches& fetched) const {
    const LevelLoop& loop = level_.loop[d];
    const Wide moved = select(loop.spatial, one_, most(loop.input.fresh, one_));
    std::array<Wide, 2> words{};
    for (const TensorId id : {kInput, kFilter}) {
      if (!problem_.loop[d].in[id]) continue;
      const WideFlag restarted = loop.place < restarting_[id];
      const WideFlag fresh =
          (level_.dealt.place > loop.place) | (~restarted & (level_.dealt.place == loop.place));
      const Wide of_one = select(restarted, whole_[id], whole_[id] / words_[d] * moved);
      words[id] = of_one * select(fresh, fetched.fresh[id], fetched.whole[id]);
    }
    return ingress(words[kInput], words[kFilter]);
  }
  GYM_INLINE Ingress ingress(Wide input, Wide filter) const {
    return {input, filter, delay(problem_.hardware, input + filter)};
  }

  GYM_INLINE Mover mover(int d, const std::array<Spread, 2>& spread) const {
    const States& states = states_[d];
    Mover mover;
    mover.steady = states.steady;
    mover.edge = states.edge;
    mover.spatial = select(level_.loop[d].spatial, one_, Wide{});
    mover.factor = {factor(d, states.partial), factor(d, flag(true))};
    mover.ingress = {fetch(d, spread[0].fetched), fetch(d, spread[1].fetched)};
    return mover;
  }

  // Loops that do not move come before the others, where they change nothing.
  GYM_INLINE void list(const std::array<Spread, 2>& spread) {
    std::array<Wide, kMaxOpen> key;
    for (int d = 0; d < problem_.open; ++d) {
      movers_[d] = mover(d, spread);
      const Wide moves = select(states_[d].unrolled, Wide{}, number<Wide>(kMaxLoops));
      key[d] = level_.loop[d].place + moves;
    }
    sort(key, problem_.open, movers_);
  }

  const Problem& problem_;
  const Level& level_;
  const Below& below_;
  const Wide one_;
  std::array<States, kMaxLoops> states_;
  std::array<Wide, kMaxLoops> words_;  // of a fetch, along each loop
  std::array<Wide, 2> whole_;          // words of input and filter, of a whole fetch
  std::array<Wide, 2> restarting_;     // the place of the innermost loop that moves, or -1
  Ingress first_;
  Factor still_;
  std::array<Mover, kMaxOpen> movers_;
};

}  // namespace
}  // namespace gym::maestro::wide
