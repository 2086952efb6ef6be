#include "traffic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gym::optimum {

LevelTraffic::LevelTraffic(const Problem& problem, const std::vector<LoopCounts>& counts,
                           Level level, int parallel)
    : problem_(problem),
      counts_(counts),
      level_(level),
      parallel_(parallel),
      input_(input()),
      filter_(filter()),
      output_(output()) {
  for (std::size_t i = 0; i < problem.loops.size(); ++i) {
    cuts_windows_ |= problem.loops[i].is_window() && !of(i).whole;
  }
}

Words LevelTraffic::least(int x) const {
  const bool in_filter = x != kNone && problem_.loops[x].filter();
  const bool in_output = x != kNone && problem_.loops[x].output();
  return {least(input_, x), in_filter ? mixed(filter_, x) : filter_.seldom,
          in_output ? mixed(output_, x) : output_.seldom};
}

EndWords LevelTraffic::at_ends(int x) const {
  const Loop& loop = problem_.loops[x];
  const LevelCounts& counts = of(x);
  const auto whole = [&](const Moved& words, double indices) {
    return words.often / counts.extent * indices;
  };
  const double filter = loop.filter() ? whole(filter_, counts.begun) : filter_.seldom;
  const double leaving = loop.output() ? whole(output_, counts.ended) : output_.seldom;
  return {at_begins(x) + filter, leaving, loop.output() ? whole(output_, counts.begun) : 0};
}

// Of the input. What a tensor that lacks the loop fetches, it fetches where sweeps begin.
double LevelTraffic::at_begins(int x) const {
  const Loop& loop = problem_.loops[x];
  const LevelCounts& counts = of(x);
  const auto& [y_rows, x_rows] = input_.rows;
  if (loop.input()) {
    return input_.words * input_.repeats.often * y_rows.all.often * x_rows.all.often /
           counts.extent * counts.begun;
  }
  if (loop.id == kLoopK) return least(input_, x);
  if (loop.is_window() || cuts_windows_) return 0;
  const Rows& swept = y_rows.loop == x ? y_rows : x_rows;
  const Rows& other = y_rows.loop == x ? x_rows : y_rows;
  const double often = input_.repeats.often;
  const double least =
      swept.begun * other.all.often * often - swept.kept * warm(input_, other, often, false);
  return input_.words * std::max(0.0, least);
}

// A sweep begins with rows of the one before if K or the other axis moved in between. In the second
// case few rows of that are left.
double LevelTraffic::warm(const Input& input, const Rows& other, double often, bool beside) {
  const double once = other.all.seldom * input.repeats.seldom;
  if (input.repeated && !beside) return other.all.often * often - (other.moves ? 0 : once);
  return other.halo * (other.repeats.often - other.repeats.seldom) * often;
}

// How often the tiles of a tensor are moved for a loop that is none of its axes.
LevelTraffic::Moved LevelTraffic::repeats(std::size_t loop) const {
  const LevelCounts& counts = of(loop);
  if (static_cast<int>(loop) == parallel_) return {counts.chunks, counts.active};
  return {counts.steps, counts.pieces};
}

LevelTraffic::Rows LevelTraffic::rows(std::size_t loop) const {
  const LevelCounts& counts = of(loop);
  const bool dealt = static_cast<int>(loop) == parallel_;
  const Loop& axis = problem_.loops[loop];
  const auto taps = static_cast<double>(axis.taps);
  const bool cut = axis.window != kNone;
  const double fresh = axis.fresh(cut ? of(axis.window).largest_tile : taps);
  const double distinct = axis.fresh(cut ? of(axis.window).largest_piece : taps);
  const double halo = taps - fresh, beside = taps - distinct;
  const Moved times = repeats(loop);
  // A unit's chunks of one sweep share rows, those of the whole array only from sweep to sweep.
  const double kept = dealt ? counts.shared : counts.kept;
  const double shared =
      dealt ? (counts.regained - counts.restarts) * std::min(halo, counts.shared) : 0;
  const double chunks = dealt ? counts.regained : counts.restarts;
  double later_taps = 0;
  if (cut) {
    // Taps of tiles that are no larger than half a stride share no rows.
    const LevelCounts& window = of(axis.window);
    const bool apart = 2 * window.largest_tile <= static_cast<double>(axis.stride);
    later_taps = (apart ? counts.extent : times.often) * window.later;
  }
  return {static_cast<int>(loop),
          counts.moves,
          halo,
          times,
          {counts.extent * fresh + times.often * halo,
           counts.extent * distinct + times.seldom * beside},
          counts.moving * fresh + chunks * halo - shared,
          counts.restarts * kept,
          (counts.extent - counts.moving) * distinct +
              (counts.pieces - counts.restarts) * (beside - kept),
          counts.begun * fresh + chunks * halo - shared,
          axis.window,
          counts.later * fresh,
          later_taps};
}

LevelTraffic::Moved LevelTraffic::filter() const {
  Moved words{problem_.whole.filter, problem_.whole.filter};
  for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
    const double extent = of(i).extent;
    words *= problem_.loops[i].filter() ? Moved{extent, extent} : repeats(i);
  }
  return words;
}

LevelTraffic::Moved LevelTraffic::output() const {
  Moved words{problem_.whole.output, problem_.whole.output};
  for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
    const double extent = of(i).extent;
    words *= problem_.loops[i].output() ? Moved{extent, extent} : repeats(i);
  }
  return words;
}

LevelTraffic::Input LevelTraffic::input() const {
  Input input;
  input.words = problem_.whole.input;
  std::size_t axis = 0;
  for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
    const Loop& loop = problem_.loops[i];
    if (loop.slides()) {
      input.rows[axis++] = rows(i);
    } else if (loop.input()) {
      input.words *= of(i).extent;
    } else if (loop.id == kLoopK) {
      input.repeats = repeats(i);
      input.repeated = of(i).moves;
    }
  }
  return input;
}

// Where the loop of an axis moves innermost, all is moved in every step of the pieces in which it
// takes several, and once in the others.
double LevelTraffic::mixed(const Moved& words, int x) const {
  const auto& [extent, moving] = std::pair{of(x).extent, of(x).moving};
  return words.often / extent * moving + words.seldom / extent * (extent - moving);
}

double LevelTraffic::least(const Input& input, int x) const {
  const auto& [y_rows, x_rows] = input.rows;
  const Moved& times = input.repeats;
  Moved all = times;
  all *= y_rows.all;
  all *= x_rows.all;
  if (x != kNone && problem_.loops[x].input()) {
    return mixed({input.words * all.often, input.words * all.seldom}, x);
  }
  if (x == kNone) return input.words * all.seldom;
  if (cuts_windows_) return input.words * std::max(all.seldom, least_of_cut(input, x));
  double least = std::numeric_limits<double>::infinity();
  for (const bool of_y : {true, false}) {
    const Rows &swept = of_y ? y_rows : x_rows, &other = of_y ? x_rows : y_rows;
    // Of K, which is no axis, the next loop outside decides.
    const bool beside = problem_.loops[x].id == kLoopK;
    if (swept.loop == kNone || (swept.loop != x && !beside)) continue;
    const double often = beside ? times.seldom : times.often;
    const double once = other.all.seldom * times.seldom;
    least = std::min(least, swept.swept * other.all.often * often -
                                swept.kept * warm(input, other, often, beside) + swept.rest * once);
  }
  return input.words * (std::isfinite(least) ? least : all.seldom);
}

// Rows times columns, for the loop over K too. What a sweep begins with depends on the loops
// outside; what its later steps bring does not.
double LevelTraffic::least_of_cut(const Input& input, int x) const {
  // Of K, which is no axis, the next loop outside decides.
  const bool beside = problem_.loops[x].id == kLoopK;
  const double often = beside ? input.repeats.seldom : input.repeats.often;
  double least = std::numeric_limits<double>::infinity();
  bool rests = true;
  const auto innermost = [&](int loop) {
    if (loop == kNone) return false;
    rests &= of(loop).rests;
    return loop == x || (beside && of(loop).moves);
  };
  for (const bool of_y : {true, false}) {
    const Rows &swept = input.rows[of_y ? 0 : 1], &other = input.rows[of_y ? 1 : 0];
    const double columns = other.all.often * often;
    if (innermost(swept.loop)) {
      const double once = other.all.seldom * input.repeats.seldom;
      // Sweeps that end far from where they begin leave nothing.
      const bool cold = swept.kept == 0;
      least =
          std::min(least, cold ? swept.swept * columns + swept.rest * once : swept.later * columns);
    }
    if (innermost(swept.window)) least = std::min(least, swept.later_taps * columns);
  }
  return std::isinf(least) || (beside && rests) ? 0 : least;
}

}  // namespace gym::optimum
