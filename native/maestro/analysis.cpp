#include "analysis.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "../core/integers.hpp"

namespace gym::maestro {

namespace {

// S7.3: cycles a NoC needs for `words`. Nothing to send costs latency - 1 (quirk Q25). False if the
// division traps.
bool noc_delay(const Noc& noc, std::int64_t words, std::int64_t& cycles) {
  const std::int64_t bw = noc.bw;
  if (words > 0 && words <= bw) {
    cycles = noc.latency;
    return true;
  }
  if (division_traps(words, bw)) return false;
  const std::int64_t rounds = wrap_add(words / bw, words % bw != 0 ? 1 : 0);
  cycles = wrap_add(rounds, std::int64_t{noc.latency} - 1);
  return true;
}

std::int64_t tile_words(const Level& level, const Tensor& tensor) {
  std::int64_t words = 1;
  for (int k = 0; k < tensor.count; ++k) {
    words = wrap_mul(words, level.tiles[tensor.dims[k]].full);
  }
  return words;
}

// Rounded up; what does not fit becomes the least integer, as the hardware converts it.
std::int64_t cycles_of(std::int64_t macs, std::int32_t lanes) {
  // Where the quotient as a double has the same ceiling.
  if (lanes > 0 && macs > 0 && macs < std::int64_t{1} << 52) return ceil_div(macs, lanes);
  const double cycles = std::ceil(static_cast<double>(macs) / static_cast<double>(lanes));
  if (!(std::abs(cycles) < 0x1p63)) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(cycles);
}

// S7.3: how often a number goes into what the L2 buffers hold, coming or going, the more often of
// the two. False if a division traps.
bool divide_l2(const Traffics& traffic, std::int64_t divisor, std::int64_t& quotient) {
  const std::int64_t incoming = wrap_add(traffic[kInput].l2_size, traffic[kFilter].l2_size);
  const std::int64_t outgoing = traffic[kOutput].l2_size;
  if (division_traps(incoming, divisor) || division_traps(outgoing, divisor)) return false;
  quotient = std::max(incoming / divisor, outgoing / divisor);
  return true;
}

// S7 step 2: skipped cases count too (quirk Q4).
void count_outputs(std::int64_t occurrences, const Volume& volume, LevelResult& total) {
  Traffic& output = total.traffic[kOutput];
  output.l2_write = wrap_add(output.l2_write, wrap_mul(occurrences, volume.egress));
  output.l1_write = wrap_add(output.l1_write, wrap_mul(occurrences, volume.macs));
}

}  // namespace

Machine make_machine(const Hardware& hardware) {
  constexpr std::size_t kNocs = 4;
  const Noc noc{hardware.noc_bw, wrap32(hardware.noc_latency)};
  return {hardware.num_pes, hardware.simd_lanes, hardware.offchip_bw, std::vector<Noc>(kNocs, noc)};
}

// The sum that overflowed has wrapped around: it is the one before it plus `value`.
void Sum::add_rounded(std::int64_t value) {
  if (!rounded_) real_ = static_cast<long double>(wrap_sub(integer_, value));
  rounded_ = true;
  real_ += static_cast<long double>(value);
}

Analysis::Analysis(const LayerTable& table, const Machine& machine)
    : table_(table), machine_(machine) {
  if (!kHasExtendedPrecision) throw std::runtime_error("no 80-bit long double");
  for (const TensorId id : {kInput, kFilter, kOutput}) words_[id] = tensor_words(table, id);
}

Status Analysis::run(const Levels& levels, LayerResult& result) {
  levels_ = &levels;
  layer_ = &result;
  result = LayerResult{};
  first_completed_ = false;
  ++stamp_;
  if (states_.size() < static_cast<std::size_t>(levels.count)) states_.resize(levels.count);
  for (int j = 0; j < levels.count; ++j) {
    const Level* above = j > 0 ? &levels.level[j - 1] : nullptr;
    states_[j].volumes.prepare(table_, levels.level[j], above);
  }
  return run_level(0, 0, result.top);
}

// S7 steps 4, 6 and 8: what is printed of the top level.
inline void Analysis::report(const Step& step, const Work& work, LevelResult& total) {
  const std::int64_t occurrences = step.occurrences;
  Traffic& input = total.traffic[kInput];
  Traffic& filter = total.traffic[kFilter];
  input.l2_read = wrap_add(input.l2_read, wrap_mul(occurrences, step.input));
  filter.l2_read = wrap_add(filter.l2_read, wrap_mul(occurrences, step.filter));
  total.macs = wrap_add(total.macs, wrap_mul(occurrences, work.volume.macs));
  // Halved at every case (quirk Q8).
  total.offchip_bw = std::max(total.offchip_bw, work.offchip_bw) / 2;
  const std::int64_t incoming = wrap_add(step.input, step.filter);
  total.last_macs = work.volume.macs;
  total.last_incoming = incoming;
  const std::int64_t compute = work.compute;  // not 0: that is a death above
  const std::int64_t burst = std::max(incoming, work.volume.egress);
  total.peak_bw = std::max(total.peak_bw, wrap_div(burst, compute));
  total.words_per_cycle.add(wrap_div(wrap_mul(occurrences, burst), compute));
  total.ingress.add(step.delay, occurrences);
  total.egress.add(work.egress_delay, occurrences);
  total.compute.add(compute, occurrences);
}

// What follows from a top level's sums.
void Analysis::conclude(bool accepted, LevelResult& total) {
  if (accepted) {
    total.intensity =
        static_cast<double>(total.last_macs) / static_cast<double>(total.last_incoming);
  }
  for (const TensorId id : {kInput, kFilter}) {
    total.traffic[id].l1_read = total.macs;
    total.traffic[id].l1_write = total.traffic[id].l2_read;
  }
  total.traffic[kOutput].l1_read = total.traffic[kOutput].l1_write;
}

template <typename Result>
Status Analysis::run_level(int j, std::uint32_t remainders, Result& result) {
  constexpr bool kTop = std::is_same_v<Result, LevelResult>;
  LevelState& level = states_[j];
  Volumes& volumes = level.volumes;
  const Noc noc = machine_.nocs[levels_->count - 1 - j];
  std::int64_t cases = 0;
  Status status = volumes.begin(remainders, cases);
  if (status != Status::ok) return status;
  Result total;
  std::int64_t sizings = 0;  // cases up to the first accepted one
  bool accepted = false;
  for (std::int64_t c = 0; c < cases; ++c) {
    if (c > 0) volumes.advance();
    const Case now = volumes.now();
    Work& work = work_at(level, now.edges);
    Step step;
    step.occurrences = now.occurrences;
    const bool fetched = volumes.ingress(now, step.input, step.filter);
    if (!accepted) {
      if (!fetched) return Status::reference_exit;
      ++sizings;
      if constexpr (kTop) size_buffers(step, work, total);
    }
    if (step.occurrences <= 0) return Status::reference_abort;
    if constexpr (kTop) count_outputs(step.occurrences, work.volume, total);
    if (work.volume.unit_macs <= 0) continue;
    if (!fetched) return Status::reference_exit;
    if (!work.timed) {
      status = time_work(j, total, work);
      if (status != Status::ok) return status;
    }
    if (!noc_delay(noc, wrap_add(step.input, step.filter), step.delay)) {
      return Status::reference_sigfpe;
    }
    // S7.3: double buffering hides all but the slowest; the very first step hides nothing.
    std::int64_t wait = now.moving == 0 ? wrap_add(work.compute, step.delay)
                                        : std::max({work.egress_delay, work.compute, step.delay});
    if constexpr (kTop) {
      if (!accepted && !divide_l2(total.traffic, machine_.offchip_bw, offchip_cycles_)) {
        return Status::reference_sigfpe;
      }
      // Half the buffers is one step's.
      wait = std::max(wait, offchip_cycles_ / 2);
      report(step, work, total);
    }
    // S7 steps 6 and 7: all a level needs to know of the one below.
    total.runtime = wrap_add(total.runtime, wrap_mul(step.occurrences, wait));
    total.active_units += work.active_units * static_cast<double>(step.occurrences);
    total.iterations += step.occurrences;
    accepted = true;
  }
  if (total.iterations != 0) total.active_units /= static_cast<double>(total.iterations);
  if constexpr (kTop) conclude(accepted, total);
  if (!first_completed_) complete_first(j, sizings);
  result = total;
  return Status::ok;
}

// The volumes of a step at these edges, new or as they were left.
Analysis::Work& Analysis::work_at(LevelState& level, Edges edges) const {
  Work& work = level.works[edges % kWorks];
  if (work.stamp != stamp_ || work.edges != edges) {
    work.stamp = stamp_;
    work.edges = edges;
    work.timed = false;
    work.volume = level.volumes.volume(edges);
  }
  return work;
}

// S7.1 and S7 step 7: cycles of the busiest unit, units at work, and the way of the outputs.
template <typename Result>
Status Analysis::time_work(int j, const Result& total, Work& work) {
  work.compute = 0;
  work.active_units = 0;
  if (j + 1 == levels_->count) {
    work.compute = cycles_of(work.volume.unit_macs, machine_.simd_lanes);
  } else {
    const Status status = run_jobs(j, work);
    if (status != Status::ok) return status;
  }
  if (work.active_units == 0) {
    work.active_units = states_[j].volumes.spread(work.edges).busy_units;
  }
  const Noc& noc = machine_.nocs[levels_->count - 1 - j];
  if (!noc_delay(noc, work.volume.egress, work.egress_delay)) return Status::reference_sigfpe;
  if constexpr (std::is_same_v<Result, LevelResult>) {
    if (!divide_l2(total.traffic, work.compute, work.offchip_bw)) return Status::reference_sigfpe;
  }
  work.timed = true;
  return Status::ok;
}

// S7.1: a level waits for the slowest of its jobs.
Status Analysis::run_jobs(int j, Work& work) {
  const Spread& units = states_[j].volumes.spread(work.edges);
  const std::uint32_t temporal = remainders_of(work.edges) & levels_->level[j].temporal_remainders;
  for (int k = 0; k < units.job_count; ++k) {
    const Job& job = units.jobs[k];
    SubResult& sub = states_[j + 1].results[temporal | job.remainders];
    if (sub.stamp != stamp_) {
      const Status status = run_level(j + 1, temporal | job.remainders, sub);
      if (status != Status::ok) return status;
      sub.stamp = stamp_;
    }
    work.compute = std::max(work.compute, sub.runtime);
    work.active_units += sub.active_units * job.times;
  }
  return Status::ok;
}

// S7.4: the level that completes first gives the L1 size, the inputs' once for every case sized.
void Analysis::complete_first(int j, std::int64_t sizings) {
  first_completed_ = true;
  layer_->nested = j > 0;
  const auto size = [&](TensorId id, std::int64_t times) {
    const std::int64_t words = tile_words(levels_->level[j], table_.tensors[id]);
    layer_->l1_size[id] = wrap_mul(times, wrap_mul(2, words));
  };
  size(kInput, sizings);
  size(kFilter, sizings);
  size(kOutput, sizings > 0 ? 1 : 0);
}

// S7 step 1; the factor 2 is double buffering.
void Analysis::size_buffers(const Step& step, const Work& work, LevelResult& total) const {
  Traffic& input = total.traffic[kInput];
  Traffic& filter = total.traffic[kFilter];
  Traffic& output = total.traffic[kOutput];
  input.l2_size = wrap_add(input.l2_size, wrap_mul(2, step.input));
  filter.l2_size = wrap_add(filter.l2_size, wrap_mul(2, step.filter));
  output.l2_size = wrap_mul(2, work.volume.egress);
  input.l2_write = words_[kInput];
  filter.l2_write = words_[kFilter];
  output.l2_read = words_[kOutput];
}

}  // namespace gym::maestro
