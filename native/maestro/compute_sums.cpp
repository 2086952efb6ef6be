// Sums over all cases of a level whose units never wait for words: products over loops, as the MACs
// of each case are (S6.5, S7.3).
#include <algorithm>
#include <cmath>

#include "volumes.hpp"

namespace gym::maestro {

namespace {

// Doubles count exactly up to here, and the way from MACs to cycles is theirs.
constexpr double kExact = 0x1p52;
// Occurrences are C ints.
constexpr double kOccurrences = 0x1p31;

double real(std::int64_t value) { return static_cast<double>(value); }

double largest(double a, double b) { return std::max(std::abs(a), std::abs(b)); }

double largest(const std::array<std::int64_t, Spread::kResident + 1>& words) {
  double most = 0;
  for (const std::int64_t each : words) most = largest(most, real(each));
  return most;
}

}  // namespace

std::optional<ComputeSums> Volumes::sum_compute(std::uint32_t remainders, std::int64_t bw,
                                                std::int64_t latency) {
  if (!flow_.described) describe_flow();
  if (!flow_.simple) return std::nullopt;
  const bool second = (remainders & spatial_[0].remainder) != 0;
  Sharing& sharing = flow_.sharing[second ? 1 : 0];
  if (!sharing.described) describe_sharing(remainders, second, sharing);
  if (!sharing.simple || sharing.most_words > real(bw)) return std::nullopt;
  Part all = flow_.settled;
  for (int i = 0; i < open_count_; ++i) {
    if (i == flow_.dealt) continue;
    const Part& part = flow_.parts[i][(remainders & open_[i].remainder) != 0 ? 1 : 0];
    all.cycles *= part.cycles;
    all.fewest *= part.fewest;
    all.steps *= part.steps;
  }
  const double cycles = all.cycles * sharing.part.cycles;
  const double steps = all.steps * sharing.part.steps;
  const double busy_units = all.steps * sharing.busy_units;
  const bool counted = cycles < kExact && busy_units < kExact && steps < kOccurrences;
  if (!counted || all.fewest * sharing.part.fewest < real(latency)) return std::nullopt;
  return ComputeSums{static_cast<std::int64_t>(cycles), static_cast<std::int64_t>(steps),
                     busy_units};
}

void Volumes::describe_flow() {
  flow_.described = true;
  flow_.dealt = -1;
  flow_.sharing[0].described = flow_.sharing[1].described = false;
  const double settled = real(settled_factors_.macs);
  flow_.settled = {settled, settled, 1};
  flow_.outputs = std::abs(real(settled_factors_.outputs));
  bool words_come = true;
  for (const TensorId id : {kInput, kFilter}) {
    flow_.words[id] = real(settled_reach_.words[id]);
    words_come &= flow_.words[id] > 0;
  }
  std::int64_t cases = 1;
  flow_.parts.resize(open_.size());
  flow_.simple = level_->spatial_count == 1 && words_come && settled > 0;
  for (int i = 0; i < open_count_ && flow_.simple; ++i) {
    const Directive& directive = open_[i];
    if (directive.ended != 0) flow_.dealt = i;
    const int variants = directive.remainder != 0 ? 2 : 1;
    int states = 0;
    std::array<double, 2> words{};
    for (int v = 0; v < variants; ++v) {
      const Loop& loop = directive.loop[v];
      states = std::max(states, loop.wheel.count);
      flow_.parts[i][v] = part_of(directive, loop, {1, 1});
      flow_.simple &= flow_.parts[i][v].fewest > 0;
      for (const TensorId id : {kInput, kFilter}) {
        flow_.simple &= loop.words[id] > 0;
        words[id] = std::max(words[id], largest(real(loop.words[id]), real(loop.moved[id])));
      }
    }
    const bool regular = directive.leads && !directive.exits;
    flow_.simple &= states == 1 || regular;
    cases *= states;
    for (const TensorId id : {kInput, kFilter}) flow_.words[id] *= words[id];
    flow_.outputs *=
        largest(real(directive.factors[0].outputs), real(directive.factors[1].outputs));
  }
  flow_.simple &= cases <= Odometer::kMaxCases;
}

// `units`: what those inside and at an edge contribute to the MACs.
Volumes::Part Volumes::part_of(const Directive& directive, const Loop& loop,
                               const std::array<double, 2>& units) {
  Part part{0, kExact, 0};
  for (int s = 0; s < loop.wheel.count; ++s) {
    const Case& state = loop.wheel.state[s];
    const Factors& factors = directive.factors[(state.edges & directive.edge) != 0 ? 1 : 0];
    const double macs = real(factors.macs) * units[(state.edges & kSpatialEdges) != 0 ? 1 : 0];
    part.cycles += state.occurrences * macs;
    part.steps += state.occurrences;
    part.fewest = std::min(part.fewest, macs);
  }
  return part;
}

// With the first or the second extent of the spatial loop.
void Volumes::describe_sharing(std::uint32_t remainders, bool second, Sharing& sharing) {
  const Edges extents = second ? second_extent(0) : 0;
  require_spreads(remainders, extents);
  const Spread& inside = spreads_[extents];
  const bool ends = spatial_[0].states[second ? 1 : 0].edge;
  const Spread& ended = ends ? spreads_[extents | spatial_edge(0)] : inside;
  const double macs = real(inside.unit_macs);
  sharing.described = true;
  sharing.part = {macs, macs, 1};
  sharing.busy_units = inside.busy_units;
  if (flow_.dealt >= 0) {
    const Directive& directive = open_[flow_.dealt];
    const Loop& loop = directive.at(remainders);
    sharing.part = part_of(directive, loop, {macs, real(ended.unit_macs)});
    sharing.busy_units *= sharing.part.steps;
    if (ends) sharing.busy_units += ended.busy_units - inside.busy_units;
  }
  sharing.simple = sharing.part.fewest > 0;
  double incoming = 0;
  for (const TensorId id : {kInput, kFilter}) {
    incoming += flow_.words[id] * largest(largest(inside.fetched[id]), largest(ended.fetched[id]));
    sharing.simple &= inside.fetched[id][Spread::kResident] > 0;
  }
  const double outgoing = flow_.outputs * largest(real(inside.outputs), real(ended.outputs));
  sharing.most_words = std::max(incoming, outgoing);
}

}  // namespace gym::maestro
