// Many points of one map space on one problem: the primitive everything else calls.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "../core/map_space.hpp"
#include "scorer.hpp"

namespace gym {

// Indices of metrics.
using Columns = std::vector<std::size_t>;

// The product of some metrics of a row, infinite unless it is ok.
double value_of(const Metrics& row, Status status, const Columns& columns);

class BatchEvaluator {
 public:
  explicit BatchEvaluator(ScorerSpec spec) : spec_(std::move(spec)) {}

  // An entry of points that is out of range.
  struct Stray {
    std::int64_t index;
    std::int32_t value;
  };

  // Writes one row of metrics and one status per point and returns nothing; or returns the first
  // entry out of range, and what is written means nothing. Rows depend on their point alone, so the
  // result is the same for any number of threads.
  std::optional<Stray> evaluate(const Points& points, int threads, Metrics* rows, Status* statuses);
  // The same with one value per point, the product of some metrics, infinite unless it is ok; in
  // less time where these are costs.
  std::optional<Stray> evaluate(const Points& points, int threads, const Columns& columns,
                                double* values, Status* statuses);

  struct Single {
    Status status = Status::ok;
    Metrics metrics{};
    std::vector<ClusterMetrics> clusters;
    int problem = -1;  // index of the directive at fault
  };

  // One mapping, from the map space or not, in full.
  Single evaluate(const Mapping& mapping);

  // Seconds each takes, one after the other.
  std::vector<double> time(const Points& points);

 private:
  // One for each thread that takes part in a batch.
  struct Worker {
    explicit Worker(const ScorerSpec& spec) : scorer(spec) {}

    Scorer scorer;
    std::vector<std::int32_t> points;  // a copy: the caller may change its own meanwhile
    std::vector<Metrics> rows;         // that nobody has asked for
    std::optional<Stray> stray;
  };

  void require_workers(int threads);
  // `score(worker, start, chunk)` scores points that begin with this one of all.
  template <typename Score>
  std::optional<Stray> for_each_chunk(const Points& points, int threads, const Score& score);

  ScorerSpec spec_;
  std::vector<Worker> workers_;
  std::mutex mutex_;
};

}  // namespace gym
