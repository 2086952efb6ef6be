#include "analysis.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "../integers.hpp"

namespace gym::maestro {

namespace {

// S7.3: cycles a NoC needs for `words`. Nothing to send costs latency - 1 (quirk Q25).
Status noc_delay(const Noc& noc, std::int64_t words, std::int64_t& cycles) {
  const std::int64_t bw = noc.bw;
  if (words > 0 && words <= bw) {
    cycles = noc.latency;
    return Status::ok;
  }
  if (division_traps(words, bw)) return Status::reference_sigfpe;
  cycles = noc.latency + words / bw + (words % bw != 0 ? 1 : 0) - 1;
  return Status::ok;
}

std::int64_t tile_words(const Level& level, const Tensor& tensor) {
  std::int64_t words = 1;
  for (int k = 0; k < tensor.count; ++k) {
    words = wrap_mul(words, level.tiles[tensor.dims[k]].full);
  }
  return words;
}

// Words of a whole tensor; of the output, Y and X count the windows' positions.
std::int64_t tensor_words(const LayerTable& table, TensorId id) {
  const Tensor& tensor = table.tensors[id];
  std::int64_t words = 1;
  for (int k = 0; k < tensor.count; ++k) {
    const Dim dim = tensor.dims[k];
    std::int64_t size = table.extent[dim];
    if (id == kOutput && table.output_tile(dim) != dim) {
      size = wrap32(size - table.extent[window_of(dim)] + 1);
    }
    words = wrap_mul(words, size);
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

}  // namespace

Machine make_machine(const Hardware& hardware) {
  constexpr std::size_t kNocs = 4;
  const Noc noc{hardware.noc_bw, wrap32(hardware.noc_latency)};
  return {hardware.num_pes, hardware.simd_lanes, hardware.offchip_bw, std::vector<Noc>(kNocs, noc)};
}

void Delays::add(std::int64_t delay, std::int64_t times) {
  min = std::min(min, delay);
  max = std::max(max, delay);
  sum += static_cast<long double>(wrap_mul(times, delay));
}

Analysis::Analysis(const LayerTable& table, const Machine& machine)
    : table_(table), machine_(machine) {
  for (const TensorId id : {kInput, kFilter, kOutput}) words_[id] = tensor_words(table, id);
}

Status Analysis::run(const Levels& levels, LayerResult& result) {
  levels_ = &levels;
  layer_ = &result;
  result = LayerResult{};
  first_completed_ = false;
  ++stamp_;
  for (int j = 0; j < levels.count; ++j) {
    volumes_[j].prepare(table_, levels.level[j], j > 0 ? &levels.level[j - 1] : nullptr);
  }
  return run_level(0, 0, result.top);
}

template <typename Result>
Status Analysis::run_level(int j, std::uint32_t remainders, Result& result) {
  constexpr bool kTop = std::is_same_v<Result, LevelResult>;
  Volumes& volumes = volumes_[j];
  std::int64_t cases = 0;
  Status status = volumes.begin(remainders, cases);
  if (status != Status::ok) return status;
  std::int64_t sizings = 0;  // cases up to the first accepted one
  bool accepted = false;
  for (std::int64_t c = 0; c < cases; ++c) {
    if (c > 0) volumes.advance();
    const Case& now = volumes.now();
    Step step;
    step.occurrences = now.occurrences;
    step.egress = volumes.egress();
    const bool fetched = volumes.ingress(step.input, step.filter);
    if (!accepted) {
      if (!fetched) return Status::reference_exit;
      ++sizings;
      if constexpr (kTop) size_buffers(step, result);
    }
    if (step.occurrences <= 0) return Status::reference_abort;
    if constexpr (kTop) {
      step.macs = volumes.macs();
      count_outputs(step, result);
    }
    const std::int64_t unit_macs = volumes.unit_macs();
    if (unit_macs <= 0) continue;
    if (!fetched) return Status::reference_exit;
    status = compute(j, unit_macs, step);
    if (status == Status::ok) status = deliver(j, step);
    if (status != Status::ok) return status;
    // S7.3: double buffering hides all but the slowest; the very first step hides nothing.
    std::int64_t wait = now.moving == 0 ? wrap_add(step.compute, step.in)
                                        : std::max({step.out, step.compute, step.in});
    if constexpr (kTop) {
      status = accepted ? Status::ok : time_offchip(result);
      if (status == Status::ok) status = require_offchip(step.compute, result);
      if (status != Status::ok) return status;
      wait = std::max(wait, offchip_cycles_);
      report(step, result);
    }
    // S7 steps 6 and 7: all a level needs to know of the one below.
    result.runtime = wrap_add(result.runtime, wrap_mul(step.occurrences, wait));
    result.active_units += step.active_units * static_cast<double>(step.occurrences);
    result.iterations += step.occurrences;
    accepted = true;
  }
  if (result.iterations != 0) result.active_units /= static_cast<double>(result.iterations);
  if (!first_completed_) complete_first(j, sizings);
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
void Analysis::size_buffers(const Step& step, LevelResult& result) const {
  Traffic& input = result.traffic[kInput];
  Traffic& filter = result.traffic[kFilter];
  Traffic& output = result.traffic[kOutput];
  input.l2_size = wrap_add(input.l2_size, wrap_mul(2, step.input));
  filter.l2_size = wrap_add(filter.l2_size, wrap_mul(2, step.filter));
  output.l2_size = wrap_mul(2, step.egress);
  input.l2_write = words_[kInput];
  filter.l2_write = words_[kFilter];
  output.l2_read = words_[kOutput];
}

// S7.1 and S7 step 7: cycles of the busiest unit, and units at work.
Status Analysis::compute(int j, std::int64_t unit_macs, Step& step) {
  const Spread& units = volumes_[j].spread();
  if (j + 1 == levels_->count) {
    step.compute = cycles_of(unit_macs, machine_.simd_lanes);
  } else {
    const std::uint32_t remainders = volumes_[j].now().remainders;
    for (int k = 0; k < units.job_count; ++k) {
      const Job& job = units.jobs[k];
      const std::uint32_t extents = remainders | job.remainders;
      SubResult& sub = memo_[j + 1][extents];
      if (sub.stamp != stamp_) {
        sub = {};
        const Status status = run_level(j + 1, extents, sub);
        if (status != Status::ok) return status;
        sub.stamp = stamp_;
      }
      step.compute = std::max(step.compute, sub.runtime);
      step.active_units += sub.active_units * job.times;
    }
  }
  if (step.active_units == 0) step.active_units = units.busy_units;
  return Status::ok;
}

// S7 step 6: what the level's network takes to bring a step's inputs and to take its outputs away.
Status Analysis::deliver(int j, Step& step) const {
  const Noc& noc = machine_.nocs[levels_->count - 1 - j];
  const Status status = noc_delay(noc, wrap_add(step.input, step.filter), step.in);
  return status == Status::ok ? noc_delay(noc, step.egress, step.out) : status;
}

// S7.3: cycles the off-chip memory takes for half the L2 buffers.
Status Analysis::time_offchip(const LevelResult& result) {
  const std::int64_t bw = machine_.offchip_bw;
  const std::int64_t incoming =
      wrap_add(result.traffic[kInput].l2_size, result.traffic[kFilter].l2_size);
  const std::int64_t outgoing = result.traffic[kOutput].l2_size;
  if (division_traps(incoming, bw) || division_traps(outgoing, bw)) {
    return Status::reference_sigfpe;
  }
  offchip_cycles_ = std::max(incoming / bw / 2, outgoing / bw / 2);
  return Status::ok;
}

// S7.3: the off-chip bandwidth requirement, halved at every case (quirk Q8).
Status Analysis::require_offchip(std::int64_t compute, LevelResult& result) const {
  if (compute == 0) return Status::reference_sigfpe;
  const std::int64_t incoming =
      wrap_add(result.traffic[kInput].l2_size, result.traffic[kFilter].l2_size);
  const std::int64_t outgoing = result.traffic[kOutput].l2_size;
  if (division_traps(incoming, compute) || division_traps(outgoing, compute)) {
    return Status::reference_sigfpe;
  }
  result.offchip_bw = std::max({result.offchip_bw, outgoing / compute, incoming / compute}) / 2;
  return Status::ok;
}

// S7 step 2: skipped cases count too (quirk Q4).
void Analysis::count_outputs(const Step& step, LevelResult& result) const {
  Traffic& output = result.traffic[kOutput];
  const std::int64_t macs = wrap_mul(step.occurrences, step.macs);
  output.l2_write = wrap_add(output.l2_write, wrap_mul(step.occurrences, step.egress));
  output.l1_write = wrap_add(output.l1_write, macs);
  output.l1_read = wrap_add(output.l1_read, macs);
}

// S7 steps 4, 6 and 8: what is printed of the top level.
void Analysis::report(const Step& step, LevelResult& result) const {
  const std::int64_t occurrences = step.occurrences;
  const std::int64_t macs = wrap_mul(occurrences, step.macs);
  for (const TensorId id : {kInput, kFilter}) {
    Traffic& traffic = result.traffic[id];
    const std::int64_t ingress = id == kInput ? step.input : step.filter;
    traffic.l2_read = wrap_add(traffic.l2_read, wrap_mul(occurrences, ingress));
    traffic.l1_write = traffic.l2_read;
    traffic.l1_read = wrap_add(traffic.l1_read, macs);
  }
  const std::int64_t incoming = wrap_add(step.input, step.filter);
  result.intensity = static_cast<double>(step.macs) / static_cast<double>(incoming);
  result.macs = wrap_add(result.macs, macs);
  const std::int64_t compute = step.compute;  // not 0: that is a death above
  const std::int64_t burst = std::max(incoming, step.egress);
  result.peak_bw = std::max(result.peak_bw, wrap_div(burst, compute));
  result.words_per_cycle +=
      static_cast<long double>(wrap_div(wrap_mul(occurrences, burst), compute));
  result.ingress.add(step.in, occurrences);
  result.egress.add(step.out, occurrences);
  result.compute.add(compute, occurrences);
}

}  // namespace gym::maestro
