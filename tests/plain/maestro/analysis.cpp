#include "analysis.hpp"

#include <algorithm>
#include <cmath>

#include "../integers.hpp"

namespace gym::maestro {

namespace {

using Position = LoopState::Position;

// S7.3: cycles a NoC needs for `words`. Nothing to send costs latency - 1 (quirk Q25).
Status noc_delay(const Noc& noc, std::int64_t words, std::int64_t& cycles) {
  const std::int64_t bw = noc.bw;
  if (division_traps(words, bw)) return Status::reference_sigfpe;
  const std::int64_t rounds = wrap_add(words / bw, words % bw != 0 ? 1 : 0);
  cycles = wrap_add(rounds, std::int64_t{noc.latency} - 1);
  return Status::ok;
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

Status Analysis::run(const Levels& levels, LayerResult& result) {
  levels_ = &levels;
  layer_ = &result;
  result = LayerResult{};
  first_completed_ = false;
  ++stamp_;
  return run_level(0, table_.extent, result.top);
}

Status Analysis::run_level(int j, const Extents& extent, LevelResult& result) {
  const Level& level = levels_->level[j];
  Cases& cases = cases_[j];
  const Status enumerated = cases.enumerate(level, extent);
  if (enumerated != Status::ok) return enumerated;
  Volumes volumes(table_, level, cases);
  bool accepted = false;
  for (std::int64_t c = 0; c < cases.size(); ++c) {
    cases.select(level, c);
    volumes.begin_case();
    const Status status = run_case(j, extent, volumes, !accepted, result, accepted);
    if (status != Status::ok) return status;
  }
  if (result.iterations != 0) result.active_units /= static_cast<double>(result.iterations);
  if (!first_completed_) {
    first_completed_ = true;
    layer_->nested = j > 0;
    for (int t = 0; t < kTensors; ++t) layer_->l1_size[t] = result.traffic[t].l1_size;
  }
  return Status::ok;
}

Status Analysis::run_case(int j, const Extents& extent, const Volumes& volumes, bool sizing,
                          LevelResult& result, bool& accepted) {
  Step step;
  step.occurrences = cases_[j].occurrences();
  if (sizing) {
    const Status status = fetch(volumes, step);
    if (status != Status::ok) return status;
  }
  step.egress = volumes.egress();
  if (sizing) size_buffers(j, extent, step, result);
  if (step.occurrences <= 0) return Status::reference_abort;
  if (j == 0) {
    step.macs = volumes.macs();
    count_outputs(step, result);
  }
  step.unit = volumes.unit_macs();
  if (step.unit <= 0) return Status::ok;
  if (!sizing) {
    const Status status = fetch(volumes, step);
    if (status != Status::ok) return status;
  }
  Status status = compute(j, step);
  if (status != Status::ok) return status;
  const Noc& noc = machine_.nocs[levels_->count - 1 - j];
  std::int64_t in = 0;
  std::int64_t out = 0;
  status = noc_delay(noc, wrap_add(step.input, step.filter), in);
  if (status != Status::ok) return status;
  status = noc_delay(noc, step.egress, out);
  if (status != Status::ok) return status;
  status = wait(j, result, step, in, out, step.wait);
  if (status != Status::ok) return status;
  if (j == 0) {
    status = require_offchip(step, result);
    if (status != Status::ok) return status;
  }
  accumulate(step, result);
  if (j == 0) report(step, in, out, result);
  accepted = true;
  return Status::ok;
}

Status Analysis::fetch(const Volumes& volumes, Step& step) const {
  const bool alive = volumes.ingress(kInput, step.input) && volumes.ingress(kFilter, step.filter);
  return alive ? Status::ok : Status::reference_exit;
}

// S7 step 1; the factor 2 is double buffering.
void Analysis::size_buffers(int j, const Extents& extent, const Step& step,
                            LevelResult& result) const {
  const Level& level = levels_->level[j];
  const auto tensor_words = [&](const Tensor& tensor, bool output) {
    std::int64_t words = 1;
    for (int k = 0; k < tensor.count; ++k) {
      const Dim dim = tensor.dims[k];
      std::int64_t size = extent[dim];
      if (output && table_.slides && (dim == kY || dim == kX)) {
        size = wrap32(size - extent[window_of(dim)] + 1);
      }
      words = wrap_mul(words, size);
    }
    return words;
  };
  for (const TensorId id : {kInput, kFilter}) {
    const Tensor& tensor = table_.tensors[id];
    Traffic& traffic = result.traffic[id];
    const std::int64_t ingress = id == kInput ? step.input : step.filter;
    traffic.l2_size = wrap_add(traffic.l2_size, wrap_mul(2, ingress));
    traffic.l1_size = wrap_add(traffic.l1_size, wrap_mul(2, tile_words(level, tensor)));
    traffic.l2_write = tensor_words(tensor, false);
  }
  const Tensor& tensor = table_.tensors[kOutput];
  Traffic& traffic = result.traffic[kOutput];
  traffic.l2_size = wrap_mul(2, step.egress);
  traffic.l1_size = wrap_mul(2, tile_words(level, tensor));
  traffic.l2_read = tensor_words(tensor, true);
}

// S7.1 and S7 step 7: cycles of the busiest unit, and units at work.
Status Analysis::compute(int j, Step& step) {
  const Level& level = levels_->level[j];
  const LoopState& spatial = cases_[j].state(level.spatial);
  if (j + 1 == levels_->count) {
    step.compute = cycles_of(step.unit, machine_.simd_lanes);
  } else {
    struct Job {
      bool ragged;
      std::int32_t times;
    };
    std::array<Job, 2> jobs{};
    int count = 0;
    if (!spatial.edge) {
      jobs[count++] = {false, level.units};
    } else if (!spatial.ragged) {
      jobs[count++] = {false, level.edge_units};
    } else {
      jobs[count++] = {true, 1};
      if (level.edge_units > 1) jobs[count++] = {false, level.edge_units - 1};
    }
    for (int k = 0; k < count; ++k) {
      SubResult sub;
      const Status status = run_job(j, jobs[k].ragged, sub);
      if (status != Status::ok) return status;
      step.compute = std::max(step.compute, sub.runtime);
      step.active_units += sub.active_units * jobs[k].times;
    }
  }
  if (step.active_units == 0) {
    step.active_units = spatial.edge ? level.edge_units : level.units;
  }
  return Status::ok;
}

// S7.2. A sub-level's extents are one of two sizes per dimension: the choice is the memo's key.
Status Analysis::run_job(int j, bool ragged, SubResult& result) {
  const Level& level = levels_->level[j];
  Extents extent{};
  std::uint32_t key = 0;
  int varying = 0;
  for (int i = 0; i < static_cast<int>(level.directives.size()); ++i) {
    const LevelDirective& directive = level.directives[i];
    if (level.first[directive.dim] != i) continue;
    const TileSizes& tile = level.tiles[directive.dim];
    const bool partial =
        cases_[j].state(i).edge && (!directive.spatial || level.edge_units == 1 || ragged);
    extent[directive.dim] = partial ? tile.edge : tile.full;
    if (tile.edge != tile.full) key |= static_cast<std::uint32_t>(partial) << varying++;
  }
  Memo& memo = memo_[j + 1];
  const std::size_t keys = std::size_t{1} << varying;
  if (memo.stamps.size() < keys) {
    memo.stamps.resize(keys);
    memo.results.resize(keys);
  }
  if (memo.stamps[key] != stamp_) {
    LevelResult sub;
    const Status status = run_level(j + 1, extent, sub);
    if (status != Status::ok) return status;
    memo.stamps[key] = stamp_;
    memo.results[key] = {sub.runtime, sub.active_units};
  }
  result = memo.results[key];
  return Status::ok;
}

// S7.3: double buffering hides all but the slowest; the very first step hides nothing.
Status Analysis::wait(int j, const LevelResult& result, const Step& step, std::int64_t in,
                      std::int64_t out, std::int64_t& cycles) const {
  cycles = cases_[j].moving() < 0 ? wrap_add(step.compute, in) : std::max({out, step.compute, in});
  if (j > 0) return Status::ok;
  const std::int64_t bw = machine_.offchip_bw;
  const std::int64_t incoming =
      wrap_add(result.traffic[kInput].l2_size, result.traffic[kFilter].l2_size);
  const std::int64_t outgoing = result.traffic[kOutput].l2_size;
  if (division_traps(incoming, bw) || division_traps(outgoing, bw)) {
    return Status::reference_sigfpe;
  }
  cycles = std::max({incoming / bw / 2, cycles, outgoing / bw / 2});
  return Status::ok;
}

// S7.3: the off-chip bandwidth requirement, halved at every case (quirk Q8).
Status Analysis::require_offchip(const Step& step, LevelResult& result) const {
  if (step.compute == 0) return Status::reference_sigfpe;
  const std::int64_t incoming =
      wrap_add(result.traffic[kInput].l2_size, result.traffic[kFilter].l2_size);
  const std::int64_t outgoing = result.traffic[kOutput].l2_size;
  if (division_traps(incoming, step.compute) || division_traps(outgoing, step.compute)) {
    return Status::reference_sigfpe;
  }
  result.offchip_bw =
      std::max({result.offchip_bw, outgoing / step.compute, incoming / step.compute}) / 2;
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

// S7 steps 6 and 7: all a level needs to know of the one below.
void Analysis::accumulate(const Step& step, LevelResult& result) const {
  result.runtime = wrap_add(result.runtime, wrap_mul(step.occurrences, step.wait));
  result.active_units += step.active_units * static_cast<double>(step.occurrences);
  result.iterations += step.occurrences;
}

// S7 steps 4, 6 and 8: what is printed of the top level.
void Analysis::report(const Step& step, std::int64_t in, std::int64_t out,
                      LevelResult& result) const {
  const std::int64_t occurrences = step.occurrences;
  for (const TensorId id : {kInput, kFilter}) {
    Traffic& traffic = result.traffic[id];
    const std::int64_t ingress = id == kInput ? step.input : step.filter;
    traffic.l2_read = wrap_add(traffic.l2_read, wrap_mul(occurrences, ingress));
    traffic.l1_write = traffic.l2_read;
    traffic.l1_read = wrap_add(traffic.l1_read, wrap_mul(occurrences, step.macs));
  }
  const std::int64_t incoming = wrap_add(step.input, step.filter);
  result.intensity = static_cast<double>(step.macs) / static_cast<double>(incoming);
  result.macs = wrap_add(result.macs, wrap_mul(occurrences, step.macs));
  const std::int64_t compute = step.compute;  // not 0: that is a death above
  const std::int64_t burst = std::max(incoming, step.egress);
  result.peak_bw = std::max(result.peak_bw, wrap_div(burst, compute));
  result.words_per_cycle +=
      static_cast<long double>(wrap_div(wrap_mul(occurrences, burst), compute));
  result.ingress.add(in, occurrences);
  result.egress.add(out, occurrences);
  result.compute.add(compute, occurrences);
}

}  // namespace gym::maestro
