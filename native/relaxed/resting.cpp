// The share of words that loops of a memory leave where they are, at most (P9).
#include <algorithm>
#include <cmath>

#include "../core/integers.hpp"
#include "charges.hpp"

namespace gym::relaxed {

namespace {

// The share of a box, of so many indices or more, that lies in tails of some cuts which a tile does
// not cut, at most (P9). If the outermost cut has one box alone, `once`, so has it one tail.
double share_of_tails(double size, const Class& tile, int cuts, bool once) {
  if (cuts == 0) return 0;
  const auto most = static_cast<double>(tile.most);
  const double share = static_cast<double>(cuts) / (cuts + 1);
  return once ? std::min(share, (cuts - 1 + std::min(1.0, most / size)) / cuts) : share;
}

// The same of a box of just so many: m pieces that are cut leave them some room, and not all of it.
double share_in_tails(double size, const Class& tile, int cuts, bool once) {
  if (cuts == 0) return 0;
  const auto most = static_cast<double>(tile.most), cut = static_cast<double>(tile.least + 1);
  const double first = once ? most : 0, more = once ? (cuts - 1) * most : cuts * most;
  const double pieces = std::max(1.0, std::floor((size - first) / (more + cut)));
  const double room =
      std::max(std::min(first + pieces * more, size - pieces * cut), size - (pieces + 1) * cut);
  return std::min(share_of_tails(size, tile, cuts, once), std::max(0.0, room) / size);
}

}  // namespace

double Charges::resting(TensorId tensor, int memory) const {
  double share = 0;
  for (int d = 0; d < kLoops; ++d) {
    if (!has(kMoving[tensor], static_cast<LoopId>(d))) continue;
    for (const Class& tile : grid_.classes(d)) {
      share = std::max(share, share_resting(memory, d, tile));
    }
  }
  return share;
}

// The share of a dimension at most that lies in pieces which loops of a memory, of some tile, do
// not cut although they cut the largest box (P9).
double Charges::share_resting(int memory, int dim, const Class& tile) const {
  const auto extent = static_cast<double>(problem_.shape.extent[dim]);
  const auto most = static_cast<double>(tile.most);
  const int ragged = cuts(memory, dim);
  if (dividing_ || ragged == 0 || most >= extent) return 0;
  const bool outer = has(problem_.loops[0], static_cast<LoopId>(dim));
  const double anywhere = share_in_tails(extent, tile, ragged, outer);
  if (!outer) return anywhere;
  // In the tiles of the first memory there is a cut less. The last of them is smaller; it rests as
  // a whole, or is as ragged as can be.
  const std::int64_t least = box_->least[dim], largest = box_->most[dim];
  if (tile.least >= largest) return 0;
  const int inner = ragged - 1;
  const bool once = cuts_whole(dim, 1);
  const auto share = least == largest ? share_in_tails : share_of_tails;
  const double inside = share(static_cast<double>(least), tile, inner, once);
  const std::int64_t tail = least_tail(dim);
  const double cut = static_cast<double>(inner) / (inner + 1);
  double last = 0;
  if (least < largest) {
    const double half = extent / 2;
    if (tail <= tile.most) last = (1 - inside) * std::min(most, half);
    last = std::max(last, (cut - inside) * std::min(static_cast<double>(largest), half));
  } else if (tail < least) {
    last = ((tail <= tile.most ? 1 : cut) - inside) * static_cast<double>(tail);
  }
  return std::min(anywhere, inside + last / extent);
}

// Whether no units share a dimension between an element and the next memory that may cut it.
bool Charges::cuts_whole(int dim, int first) const {
  for (int e = first; e < problem_.elements(); ++e) {
    if (!problem_.is_memory(e) && box_->units[e].most[dim] > 1) return false;
    if (problem_.is_memory(e) && has(problem_.loops[e], static_cast<LoopId>(dim))) return true;
  }
  return true;
}

// Memories outside of one that may cut a dimension.
int Charges::cuts(int memory, int dim) const {
  int count = 0;
  for (int e = 0; e < memory; ++e) {
    if (problem_.is_memory(e) && has(problem_.loops[e], static_cast<LoopId>(dim))) ++count;
  }
  return count;
}

}  // namespace gym::relaxed
