// Words a level moves, of several mappings: see ../traffic.hpp.
#pragma once

#include "cuts.hpp"

namespace gym::exact::wide {
namespace {

using Factor = BasicFactor<Wide>;

class LevelTraffic {
 public:
  GYM_INLINE LevelTraffic(const Problem& problem, const std::array<WideLevelLoop, kMaxLoops>& level)
      : problem_(problem), level_(level) {
    for (int d = 0; d < problem.loops; ++d) {
      array_copies_[d] = level[d].sums.copies();
      unit_copies_[d] =
          choose(level[d].spatial, level[d].sums.copies_for_units(), array_copies_[d]);
      if (problem.loop[d].axis == nullptr) continue;
      array_rows_[d] = rows<false>(d);
      unit_rows_[d] = choose(level[d].spatial, rows<true>(d), array_rows_[d]);
    }
  }

  GYM_INLINE BasicLevelWords<Wide> words() const {
    const BasicTileWords<Wide> whole = whole_words(problem_);
    BasicLevelWords<Wide> words;
    words.fetched_input = whole.input * moved(of_input(array_rows_, array_copies_));
    words.unit_input = whole.input * moved(of_input(unit_rows_, unit_copies_));
    words.fetched_filter = whole.filter * moved(of_other(&Loop::in_filter, array_copies_));
    words.unit_filter = whole.filter * moved(of_other(&Loop::in_filter, unit_copies_));
    words.leaving = moved(of_other(&Loop::in_output, array_copies_));
    return words;
  }

 private:
  using Factors = std::array<Factor, kMaxLoops>;

  // Words of the tiles of all steps, less what stays from step to step.
  GYM_INLINE Wide moved(const Factors& factors) const {
    Wide total = number<Wide>(1), inside = total, stays{};
    for (int place = problem_.loops; place-- > 0;) {
      Factor at = factors[0];
      for (int d = 1; d < problem_.loops; ++d) {
        at = choose(level_[d].place == number<Wide>(place), factors[d], at);
      }
      stays = at.mover * inside + at.outside * stays;
      inside *= at.inside;
      total *= at.outside;
    }
    return total - stays;
  }

  GYM_INLINE Factors of_input(const Factors& rows, const Factors& copies) const {
    Factors factors;
    for (int d = 0; d < problem_.loops; ++d) {
      const Loop& loop = problem_.loop[d];
      factors[d] = loop.axis != nullptr ? rows[d] : loop.id == kLoopK ? copies[d] : own(d);
    }
    return factors;
  }
  // Of a tensor without sliding axes, by which loops it has.
  GYM_INLINE Factors of_other(bool Loop::* in_tensor, const Factors& copies) const {
    Factors factors;
    for (int d = 0; d < problem_.loops; ++d) {
      factors[d] = problem_.loop[d].*in_tensor ? own(d) : copies[d];
    }
    return factors;
  }

  GYM_INLINE Factor own(int d) const {
    return level_[d].sums.own(number<Wide>(problem_.loop[d].extent));
  }

  // Rows of a sliding axis along its output loop, of arrays or of all units.
  template <bool units>
  GYM_INLINE Factor rows(int d) const {
    const Axis& axis = *problem_.loop[d].axis;
    const BasicSums<Wide>& sums = level_[d].sums;
    Factor rows;
    rows.outside =
        problem_.loop[d].extent * axis.step + (units ? sums.chunks : sums.steps) * axis.halo;
    rows.inside =
        sums.still * axis.step + (units ? sums.still_chunks : sums.still_boxes) * axis.halo;
    rows.mover = units ? Wide{} : sums.moves() * axis.halo;
    for (int i = 0; i < level_[d].variants; ++i) {
      const BasicCut<Wide>& cut = level_[d].variant[i].cut;
      const Wide moving_boxes = select(cut.moves(), level_[d].variant[i].boxes, Wide{});
      const Wide back = (cut.steps - 1) * cut.advance;
      if (units) {
        rows.inside += moving_boxes * cut.active[1] * left(axis, cut.tile, back);
        rows.mover +=
            moving_boxes * (cut.chunks - cut.active[0]) * left(axis, cut.tile, cut.advance);
      } else {
        rows.inside += moving_boxes * left(axis, cut.advance, back);
      }
    }
    return rows;
  }

  const Problem& problem_;
  const std::array<WideLevelLoop, kMaxLoops>& level_;
  Factors array_copies_, unit_copies_, array_rows_, unit_rows_;
};

}  // namespace
}  // namespace gym::exact::wide
