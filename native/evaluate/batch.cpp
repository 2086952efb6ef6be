#include "batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>

#include "../core/integers.hpp"
#include "thread_pool.hpp"

namespace gym {

namespace {

constexpr std::int64_t kChunk = 256;

}  // namespace

double value_of(const Metrics& row, Status status, const Columns& columns) {
  if (status != Status::ok) return std::numeric_limits<double>::infinity();
  const auto* figures = reinterpret_cast<const double*>(&row);
  double product = 1;
  for (const std::size_t column : columns) product *= figures[column];
  return product;
}

void BatchEvaluator::require_workers(int threads) {
  while (workers_.size() < static_cast<std::size_t>(threads)) {
    workers_.emplace_back(spec_);
  }
}

template <typename Score>
std::optional<BatchEvaluator::Stray> BatchEvaluator::for_each_chunk(const Points& points,
                                                                    int threads,
                                                                    const Score& score) {
  const std::int64_t chunks = ceil_div(points.count, kChunk);
  threads =
      static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(chunks, 1)));
  require_workers(threads);
  const std::int64_t width = points.width();
  const std::int64_t largest = std::min(kChunk, points.count);
  for (Worker& worker : workers_) {
    // Here, where running out of memory is an exception and not the end of the process.
    worker.points.reserve(static_cast<std::size_t>(largest * width));
    worker.rows.resize(std::max(worker.rows.size(), static_cast<std::size_t>(largest)));
    worker.stray.reset();
  }
  std::atomic<std::int64_t> next{0};
  const auto work = [&](int index) {
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    for (std::int64_t chunk = next++; chunk < chunks; chunk = next++) {
      const std::int64_t start = chunk * kChunk;
      const std::int64_t size = std::min(kChunk, points.count - start);
      worker.points.assign(points[start], points[start + size]);
      const Points copied{points.space, worker.points.data(), size};
      const std::int64_t entry = copied.first_out_of_range();
      if (entry >= 0) {
        worker.stray = {start * width + entry, copied.first[entry]};
        // What nobody has begun with comes behind it.
        next = chunks;
        return;
      }
      score(worker, start, copied);
    }
  };
  ThreadPool::shared().run(threads, std::ref(work));
  std::optional<Stray> first;
  for (const Worker& worker : workers_) {
    if (worker.stray && (!first || worker.stray->index < first->index)) first = worker.stray;
  }
  return first;
}

std::optional<BatchEvaluator::Stray> BatchEvaluator::evaluate(const Points& points, int threads,
                                                              Metrics* rows, Status* statuses) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return for_each_chunk(points, threads,
                        [&](Worker& worker, std::int64_t start, const Points& chunk) {
                          worker.scorer.score(chunk, {rows + start, statuses + start});
                        });
}

std::optional<BatchEvaluator::Stray> BatchEvaluator::evaluate(const Points& points, int threads,
                                                              const Columns& columns,
                                                              double* values, Status* statuses) {
  const bool costs = std::all_of(columns.begin(), columns.end(),
                                 [](std::size_t column) { return column < kCosts; });
  const Detail detail = costs ? Detail::costs : Detail::rows;
  const std::lock_guard<std::mutex> lock(mutex_);
  return for_each_chunk(points, threads,
                        [&](Worker& worker, std::int64_t start, const Points& chunk) {
                          Metrics* rows = worker.rows.data();
                          worker.scorer.score(chunk, {rows, statuses + start, detail});
                          for (std::int64_t i = 0; i < chunk.count; ++i) {
                            values[start + i] = value_of(rows[i], statuses[start + i], columns);
                          }
                        });
}

BatchEvaluator::Single BatchEvaluator::evaluate(const Mapping& mapping) {
  const std::lock_guard<std::mutex> lock(mutex_);
  require_workers(1);
  Scorer& scorer = workers_[0].scorer;
  Single single;
  single.status = scorer.score(mapping, single.metrics);
  single.clusters = scorer.model().clusters();
  single.problem = scorer.model().problem();
  return single;
}

std::vector<double> BatchEvaluator::time(const Points& points) {
  const std::lock_guard<std::mutex> lock(mutex_);
  require_workers(1);
  Metrics metrics;
  Status status;
  std::vector<double> seconds;
  using Clock = std::chrono::steady_clock;
  Clock::time_point began = Clock::now();
  for (std::int64_t i = 0; i < points.count; ++i) {
    workers_[0].scorer.score(points.part(i, 1), {&metrics, &status});
    const Clock::time_point ended = Clock::now();
    seconds.push_back(std::chrono::duration<double>(ended - began).count());
    began = ended;
  }
  return seconds;
}

}  // namespace gym
