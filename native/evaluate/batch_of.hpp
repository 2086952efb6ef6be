// Many points of one space on one problem: the primitive everything else calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "../core/integers.hpp"
#include "../core/map_space.hpp"
#include "../core/metrics.hpp"
#include "../core/status.hpp"
#include "thread_pool.hpp"

namespace gym {

// Indices of metrics.
using Columns = std::vector<std::size_t>;

// The product of some metrics of a row, infinite unless it is ok.
inline double value_of(const Metrics& row, Status status, const Columns& columns) {
  if (status != Status::ok) return std::numeric_limits<double>::infinity();
  const auto* figures = reinterpret_cast<const double*>(&row);
  double product = 1;
  for (const std::size_t column : columns) product *= figures[column];
  return product;
}

// Of a scorer of mappings, which has a `Spec` to be made of, and a `Space` whose points it scores:
// rows of metrics and statuses that depend on their point alone.
template <typename Scorer>
class BatchOf {
 public:
  using Points = PointsOf<typename Scorer::Space>;

  explicit BatchOf(typename Scorer::Spec spec) : spec_(std::move(spec)) {}

  // An entry of points that is out of range.
  struct Stray {
    std::int64_t index;
    std::int32_t value;
  };

  // Writes one row of metrics and one status per point and returns nothing; or returns the first
  // entry out of range, and what is written means nothing. The result is the same for any number
  // of threads.
  std::optional<Stray> evaluate(const Points& points, int threads, Metrics* rows, Status* statuses,
                                Detail detail = Detail::rows) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return for_each_chunk(points, threads,
                          [&](Worker& worker, std::int64_t start, const Points& chunk) {
                            worker.scorer.score(chunk, {rows + start, statuses + start, detail});
                          });
  }

  // The same with one value per point, the product of some metrics, infinite unless it is ok; in
  // less time where these are costs.
  std::optional<Stray> evaluate(const Points& points, int threads, const Columns& columns,
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

  // Calls with a scorer that is used by nobody else meanwhile.
  template <typename Use>
  auto with_scorer(const Use& use) {
    const std::lock_guard<std::mutex> lock(mutex_);
    require_workers(1);
    return use(workers_[0].scorer);
  }

  // Seconds each takes, one after the other.
  std::vector<double> time(const Points& points) {
    return with_scorer([&](Scorer& scorer) {
      Metrics metrics;
      Status status;
      std::vector<double> seconds;
      using Clock = std::chrono::steady_clock;
      Clock::time_point began = Clock::now();
      for (std::int64_t i = 0; i < points.count; ++i) {
        scorer.score(points.part(i, 1), {&metrics, &status});
        const Clock::time_point ended = Clock::now();
        seconds.push_back(std::chrono::duration<double>(ended - began).count());
        began = ended;
      }
      return seconds;
    });
  }

 private:
  static constexpr std::int64_t kChunk = 256;

  // One for each thread that takes part in a batch.
  struct Worker {
    explicit Worker(const typename Scorer::Spec& spec) : scorer(spec) {}

    Scorer scorer;
    std::vector<std::int32_t> points;  // a copy: the caller may change its own meanwhile
    std::vector<Metrics> rows;         // that nobody has asked for
    std::optional<Stray> stray;
  };

  void require_workers(int threads) {
    while (workers_.size() < static_cast<std::size_t>(threads)) workers_.emplace_back(spec_);
  }

  // `score(worker, start, chunk)` scores points that begin with this one of all.
  template <typename Score>
  std::optional<Stray> for_each_chunk(const Points& points, int threads, const Score& score) {
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

  typename Scorer::Spec spec_;
  std::vector<Worker> workers_;
  std::mutex mutex_;
};

}  // namespace gym
