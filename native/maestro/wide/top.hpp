// The top level of several mappings, case by case: see ../volumes.hpp and ../analysis.hpp.
#pragma once

#include "../figures.hpp"
#include "movers.hpp"

namespace gym::maestro::wide {
namespace {

// Cases by which loops stand at an edge: a bit for each, by its place among the movers.
inline constexpr int kEdges = 1 << kMaxOpen;
// Every loop has three states at most.
inline constexpr int kCases = 243;
static_assert(kMaxOpen == 5);

// A step's part that depends on the loops at an edge only.
struct Work {
  Wide egress, macs, egress_delay, compute, active_units, offchip_bw;
  Wide times;  // it occurs
};

GYM_INLINE std::array<Spread, 2> spread_work(const Level& level) {
  const Dealt& dealt = level.dealt;
  const States states = spatial_states(dealt.size, dealt.offset, level.units, dealt.extent);
  return {Spreader(level, states, false).spread(), Spreader(level, states, true).spread()};
}

class Top {
 public:
  GYM_INLINE Top(const Problem& problem, const Level& level, const Below& below)
      : problem_(problem),
        level_(level),
        below_(below),
        one_(number<Wide>(1)),
        spread_(spread_work(level)),
        movers_(problem, level, below, spread_) {
    tabulate();
    list_cases();
  }

  // Averages are sums still.
  GYM_INLINE BasicFindings<Wide> run() {
    for (BasicSpan<Wide>* each : {&ingress_, &egress_, &compute_}) {
      *each = {number<Wide>(std::numeric_limits<double>::infinity()), Wide{}, Wide{}, Wide{}};
    }
    work_all();
    size_buffers();
    first_step();
    for (int c = 0; c < count_; ++c) step(cases_[c]);
    return total();
  }

  // Whether the last run's numbers are those of the binary, whose steps are C ints. All others are
  // less than a few times one of these sums.
  GYM_INLINE WideFlag counts_exactly() const {
    const Wide bound = number<Wide>(0x1p50);
    WideFlag right = most(steps_, steps_below_) < 0x1p31;
    for (const Wide sum : {runtime_, input_, filter_, macs_, outputs_, busy_, ingress_.sum,
                           egress_.sum, compute_.sum, below_.l1_bytes()}) {
      right &= sum < bound;
    }
    return right;
  }

 private:
  struct Case {
    Wide times;
    int edges, mover;
  };

  GYM_INLINE void tabulate() {
    for (int d = 0; d < problem_.loops; ++d) {
      for (std::size_t v = 0; v < 2; ++v) {
        dealt_part_[v] = choose(level_.loop[d].spatial, below_.part(d, v), dealt_part_[v]);
      }
    }
    factors_[0] = movers_.still();
    at_end_[0] = Wide{};
    for (int r = 0, size = 1; r < movers_.count(); ++r, size *= 2) {
      const Mover& mover = movers_[r];
      for (int edges = 0; edges < size; ++edges) {
        factors_[edges | size] = factors_[edges].times(mover.factor[1]);
        factors_[edges] = factors_[edges].times(mover.factor[0]);
        at_end_[edges | size] = most(at_end_[edges], mover.spatial);
      }
    }
  }

  // In the binary's order (S5.3): each loop is in its steady state, then at the edge, then at its
  // beginning again, the innermost fastest. All at their beginning is what comes first instead.
  GYM_INLINE void list_cases() {
    std::array<Case, kCases> outside;
    count_ = 1;
    cases_[0] = {one_, 0, -1};
    for (int r = 0; r < movers_.count(); ++r) {
      const Mover& mover = movers_[r];
      const int outer = count_;
      std::copy_n(cases_.begin(), outer, outside.begin());
      count_ = 0;
      for (int c = 0; c < outer; ++c) {
        const Case& before = outside[c];
        const Wide steady = before.times * mover.steady, edge = before.times * mover.edge;
        if (any(steady > 0)) cases_[count_++] = {steady, before.edges, r};
        if (any(edge > 0)) cases_[count_++] = {edge, before.edges | 1 << r, r};
        cases_[count_++] = before;
      }
    }
    --count_;
  }

  // S7.1: a level waits for the slowest of its jobs.
  GYM_INLINE void work(int edges) {
    Work& work = works_[edges];
    const Factor& factor = factors_[edges];
    const WideFlag at_end = at_end_[edges] > 0;
    work.egress = factor.outputs * select(at_end, spread_[1].outputs, spread_[0].outputs);
    work.macs = factor.macs * select(at_end, spread_[1].macs, spread_[0].macs);
    work.egress_delay = delay(problem_.hardware, work.egress);
    const std::array<Wide, 2> units = {select(at_end, spread_[1].whole_jobs, spread_[0].whole_jobs),
                                       select(at_end, spread_[1].edge_jobs, spread_[0].edge_jobs)};
    const double latency = real(problem_.hardware.noc_latency);
    work.compute = work.active_units = work.times = Wide{};
    for (std::size_t v = 0; v < 2; ++v) {
      const Part& part = dealt_part_[v];
      const Wide runtime = factor.cycles * part.cycles + latency;
      const Wide busy = factor.busy * part.busy;
      work.compute = most(work.compute, select(units[v] > 0, runtime, Wide{}));
      const Wide steps = factor.steps * part.steps;
      work.active_units += busy / steps * units[v];
      busy_ = most(busy_, busy);
      steps_below_ = most(steps_below_, steps);
    }
  }

  GYM_INLINE void work_all() {
    worked_[0] = true;
    work(0);
    for (int c = 0; c < count_; ++c) {
      const int edges = cases_[c].edges;
      if (!worked_[edges]) work(edges);
      worked_[edges] = true;
    }
  }

  // S7 step 1, S7.3: the buffers hold what the first step moves, twice.
  GYM_INLINE void size_buffers() {
    const Ingress& in = movers_.first();
    size_ = {2 * in.input, 2 * in.filter, 2 * works_[0].egress};
    const Wide largest = most(size_[kInput] + size_[kFilter], size_[kOutput]);
    const Wide bw = number<Wide>(problem_.hardware.offchip_bw);
    offchip_cycles_ = halved(floor_div(largest, bw));
    for (int edges = 0; edges < 1 << movers_.count(); ++edges) {
      if (worked_[edges]) works_[edges].offchip_bw = floor_div(largest, works_[edges].compute);
    }
  }

  // Nothing is hidden behind the first step.
  GYM_INLINE void first_step() {
    const Ingress& in = movers_.first();
    take(one_, in, works_[0], works_[0].compute + in.delay);
  }

  GYM_INLINE void step(const Case& now) {
    const Mover& mover = movers_[now.mover];
    const WideFlag at_end = at_end_[now.edges] > 0;
    Work& work = works_[now.edges];
    const Ingress in = choose(at_end, mover.ingress[1], mover.ingress[0]);
    take(now.times, in, work, most(work.egress_delay, most(work.compute, in.delay)));
  }

  // S7 steps 4 and 6 to 8.
  GYM_INLINE void take(Wide times, const Ingress& in, Work& work, Wide wait) {
    const WideFlag counts = times > 0;
    const Wide incoming = in.input + in.filter;
    const Wide burst = most(incoming, work.egress);
    runtime_ += times * most(wait, offchip_cycles_);
    steps_ += times;
    active_units_ += work.active_units * times;
    work.times += times;
    input_ += times * in.input;
    filter_ += times * in.filter;
    words_per_cycle_ += floor_div(times * burst, work.compute);
    peak_bw_ = select(counts, most(peak_bw_, burst / work.compute), peak_bw_);
    // Halved at every case (quirk Q8).
    offchip_bw_ = select(counts, halved(most(offchip_bw_, work.offchip_bw)), offchip_bw_);
    last_macs_ = select(counts, work.macs, last_macs_);
    last_incoming_ = select(counts, incoming, last_incoming_);
    add(times, in.delay, ingress_);
  }

  GYM_INLINE static Wide halved(Wide value) { return floor_div(value, number<Wide>(2)); }
  GYM_INLINE static void add(Wide times, Wide delay, BasicSpan<Wide>& span) {
    const WideFlag counts = times > 0;
    span.min = select(counts, least(span.min, delay), span.min);
    span.max = select(counts, most(span.max, delay), span.max);
    span.sum += times * delay;
  }

  GYM_INLINE BasicFindings<Wide> total() {
    for (int edges = 0; edges < 1 << movers_.count(); ++edges) {
      if (!worked_[edges]) continue;
      const Work& work = works_[edges];
      macs_ += work.times * work.macs;
      outputs_ += work.times * work.egress;
      add(work.times, work.egress_delay, egress_);
      add(work.times, work.compute, compute_);
    }
    BasicFindings<Wide> findings;
    BasicTraffics<Wide>& traffic = findings.traffic;
    const auto words = [this](TensorId id) { return number<Wide>(problem_.words[id]); };
    traffic[kInput] = {macs_, input_, input_, words(kInput), size_[kInput]};
    traffic[kFilter] = {macs_, filter_, filter_, words(kFilter), size_[kFilter]};
    traffic[kOutput] = {macs_, macs_, words(kOutput), outputs_, size_[kOutput]};
    findings.runtime = runtime_;
    findings.macs = macs_;
    findings.iterations = steps_;
    findings.peak_bw = floor_div(peak_bw_, one_);
    findings.offchip_bw = offchip_bw_;
    findings.l1_bytes = below_.l1_bytes();
    findings.l2_bytes = size_[kInput] + size_[kOutput] + size_[kFilter];
    findings.active_units = active_units_ / steps_;
    findings.intensity = last_macs_ / last_incoming_;
    findings.words_per_cycle = words_per_cycle_;
    findings.csv_energy_nj = add_l2_energy<Wide>(Wide{}, traffic) * constants::kMacEnergyNj;
    findings.ingress = ingress_;
    findings.egress = egress_;
    findings.compute = compute_;
    for (BasicSpan<Wide>* each : {&findings.ingress, &findings.egress, &findings.compute}) {
      each->average = each->sum;
    }
    return findings;
  }

  const Problem& problem_;
  const Level& level_;
  const Below& below_;
  const Wide one_;
  const std::array<Spread, 2> spread_;  // before the dealt loop's end, and there
  const Movers movers_;
  std::array<Part, 2> dealt_part_{};  // of the level below, along the loop dealt here
  std::array<Factor, kEdges> factors_;
  std::array<Wide, kEdges> at_end_;  // 1 if the dealt loop is one of those at an edge
  std::array<Work, kEdges> works_;
  std::array<bool, kEdges> worked_{};
  std::array<Case, kCases> cases_;
  int count_;
  std::array<Wide, kTensors> size_;  // of the L2 buffers
  Wide offchip_cycles_;
  Wide runtime_{}, steps_{}, active_units_{}, input_{}, filter_{}, macs_{}, outputs_{};
  Wide words_per_cycle_{}, peak_bw_{}, offchip_bw_{}, last_macs_{}, last_incoming_{};
  BasicSpan<Wide> ingress_, egress_, compute_;
  Wide steps_below_{}, busy_{};  // at most, of a run of the level below
};

}  // namespace
}  // namespace gym::maestro::wide
