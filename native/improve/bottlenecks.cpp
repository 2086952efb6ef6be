#include "bottlenecks.hpp"

#include <algorithm>
#include <cmath>

#include "../core/integers.hpp"

namespace gym::improve {

namespace {

// Octaves over these are shown: chunks, units and shares of time; words of L2 and steps.
constexpr double kOctaves = 8;
constexpr double kManyOctaves = 16;
constexpr double kLeast = 1e-9;

double log2_of(double number) { return std::log2(std::fmax(number, kLeast)); }

}  // namespace

class Bottlenecks::Writer {
 public:
  explicit Writer(float* to) : to_(to) {}

  void put(double feature) {
    // Not for NaN, as where a model has no such figure, nor for shares of nothing.
    const bool known = std::isfinite(feature);
    *to_++ = static_cast<float>(known ? std::clamp(feature, -kMostFeature, kMostFeature) : 0);
  }
  void put_octaves(double number, double octaves = kOctaves) {
    put(std::isnan(number) ? number : log2_of(number) / octaves);
  }

 private:
  float* to_;
};

Bottlenecks::Bottlenecks(const Layer& layer, const LoopNest& nest, const Hardware& hardware,
                         const MapSpace& space)
    : space_(space),
      nest_(nest),
      macs_(static_cast<double>(nest.macs())),
      words_(static_cast<double>(nest.words(kInput) + nest.words(kFilter) + nest.words(kOutput))),
      pes_(hardware.num_pes),
      l1_bytes_(static_cast<double>(hardware.l1_bytes)),
      l2_bytes_(static_cast<double>(hardware.l2_bytes)),
      offchip_bw_(hardware.offchip_bw),
      energies_(hardware.energies) {
  const auto loops = loops_of(layer.op);
  constexpr std::array shown = {kLoopK, kLoopC, kLoopP, kLoopQ};
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto found = std::find_if(space.dims.begin(), space.dims.end(),
                                    [&](Dim dim) { return loops[dim] == shown[i]; });
    place_[i] = found == space.dims.end() ? -1 : static_cast<int>(found - space.dims.begin());
  }
}

void Bottlenecks::show(const std::int32_t* point, const Metrics& row, float* to) const {
  Writer writer(to);
  show_loops(point, writer);
  show_buffers(row, writer);
  show_time(row, writer);
  show_energy(row, writer);
}

// Chunks of each dimension at both levels, PEs of a cluster's share, clusters.
void Bottlenecks::show_loops(const std::int32_t* point, Writer& writer) const {
  const MapSpace::Chosen chosen = space_.read(point);
  constexpr std::array loops = {kLoopK, kLoopC, kLoopP, kLoopQ};
  for (std::size_t j = 0; j < chosen.level.size(); ++j) {
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (place_[i] < 0) {
        writer.put(0);
        continue;
      }
      const auto d = static_cast<std::size_t>(place_[i]);
      const std::int64_t whole = j == 0 ? nest_.extent[loops[i]] : chosen.level[0].tile[d];
      writer.put_octaves(static_cast<double>(ceil_div(whole, chosen.level[j].tile[d])));
    }
  }
  const double clusters = pes_ / chosen.cluster;
  writer.put_octaves(clusters);
  writer.put_octaves(std::floor(clusters));
}

void Bottlenecks::show_buffers(const Metrics& row, Writer& writer) const {
  writer.put(row.utilization);
  writer.put(row.active_pes / pes_);
  writer.put_octaves(row.active_pes / pes_);
  writer.put(row.l1_bytes / l1_bytes_);
  writer.put(row.l2_bytes / l2_bytes_);
  writer.put_octaves(row.l1_bytes / l1_bytes_);
  writer.put_octaves(row.l2_bytes / l2_bytes_, kManyOctaves);
  writer.put(row.l2_used_bytes / l2_bytes_);
}

// What takes the cycles, and how often words are used.
void Bottlenecks::show_time(const Metrics& row, Writer& writer) const {
  const double offchip = row.offchip_read_words + row.offchip_write_words;
  writer.put_octaves(row.latency_cycles * pes_ / macs_);
  writer.put_octaves(offchip / offchip_bw_ / row.latency_cycles);
  writer.put_octaves(offchip / words_);
  writer.put(row.compute_sum_cycles / row.latency_cycles);
  writer.put_octaves(row.ingress_sum_cycles / row.latency_cycles);
  writer.put_octaves(row.egress_sum_cycles / row.latency_cycles);
  writer.put_octaves(row.steps, kManyOctaves);
  // A bit for each tensor that stays in L2.
  const int resident =
      std::isnan(row.l2_resident_tensors) ? 0 : static_cast<int>(row.l2_resident_tensors);
  for (int tensor = 0; tensor < kTensors; ++tensor) writer.put(resident >> tensor & 1);
  writer.put_octaves(row.input_reuse, kManyOctaves);
  writer.put_octaves(row.filter_reuse, kManyOctaves);
  writer.put_octaves(row.input_multicast);
  writer.put_octaves(row.filter_multicast);
}

// Shares of MACs, L1, cluster buffers and L2, and all of them over the MACs.
void Bottlenecks::show_energy(const Metrics& row, Writer& writer) const {
  const auto paid = [](double accesses, double each) {
    return std::isnan(accesses) ? 0 : accesses * each;
  };
  const std::array parts = {macs_, paid(row.l1_accesses, energies_.l1_macs),
                            paid(row.cluster_accesses, energies_.l1_macs),
                            paid(row.l2_accesses, energies_.l2_macs)};
  const double sum = parts[0] + parts[1] + parts[2] + parts[3];
  for (const double part : parts) writer.put(part / sum);
  writer.put_octaves(sum / macs_);
}

}  // namespace gym::improve
