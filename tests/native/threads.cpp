// Threaded batches for ThreadSanitizer: several callers, of one evaluator and each of its own,
// every call with several threads, single mappings in between. Ends with 1 if any result differs
// from one thread's, or if the thread pool leaves work undone, does not call its threads again or
// loses an exception.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#include "../../native/evaluate/thread_pool.hpp"
#include "problems.hpp"

namespace {

constexpr std::int64_t kMappings = 1500;  // several chunks for every thread
constexpr int kCallers = 3;
constexpr int kMostThreads = 4;

void at_once(const std::function<void(int)>& work) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) callers.emplace_back(work, caller);
  for (std::thread& caller : callers) caller.join();
}

// Runs that were over before their work was, or called with an index twice or not with the first.
int wrong_runs() {
  constexpr int kRuns = 300;
  constexpr int kItems = 50;
  std::atomic<int> wrong{0};
  at_once([&](int caller) {
    for (int run = 0; run < kRuns; ++run) {
      std::atomic<int> next{0}, calls[kMostThreads] = {};
      std::vector<int> done(kItems);
      const int threads = 1 + (run + caller) % kMostThreads;
      gym::ThreadPool::shared().run(threads, [&](int index) {
        ++calls[index];
        for (int item = next++; item < kItems; item = next++) ++done[item];
      });
      const bool each_once = std::all_of(std::begin(calls), std::end(calls),
                                         [](const std::atomic<int>& times) { return times <= 1; });
      const bool all_done = std::count(done.begin(), done.end(), 1) == kItems;
      if (!each_once || !all_done || calls[0] != 1) ++wrong;
    }
  });
  return wrong;
}

// Runs in which not all calls were under way at the same time, though the first waited for it.
int lonely_runs() {
  constexpr int kRuns = 3;  // the threads of the first take part in the others
  int lonely = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::atomic<int> begun{0};
    std::atomic<bool> all{false};
    gym::ThreadPool::shared().run(kMostThreads, [&](int index) {
      ++begun;
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (index == 0 && !all && std::chrono::steady_clock::now() < patience) {
        all = begun == kMostThreads;
        std::this_thread::yield();
      }
    });
    lonely += !all;
  }
  return lonely;
}

// Calls that threw, here or on another thread, and the caller heard of no such thing.
int lost_exceptions() {
  int lost = kMostThreads;
  for (int thrower = 0; thrower < kMostThreads; ++thrower) {
    std::atomic<bool> thrown{false};
    try {
      gym::ThreadPool::shared().run(kMostThreads, [&](int index) {
        if (index == thrower) {
          thrown = true;
          throw std::runtime_error("of a call");
        }
        while (index == 0 && !thrown) std::this_thread::yield();
      });
    } catch (const std::runtime_error&) {
      --lost;
    }
  }
  return lost;
}

bool same(const driver::Results& one, const driver::Results& other) {
  return one.statuses == other.statuses && std::memcmp(one.rows.data(), other.rows.data(),
                                                       one.rows.size() * sizeof(gym::Metrics)) == 0;
}

class Batch {
 public:
  Batch(const std::string& model, bool guarded, const driver::Square& square)
      : spec_{model, driver::layer_of(square), driver::machine(), guarded},
        space_(driver::legal13(square)),
        points_(driver::random_points(space_, kMappings, 2)) {}

  // Calls whose results are not those of an evaluator of its own on one thread.
  int wrong_calls() const {
    gym::BatchEvaluator alone(spec_), shared(spec_);
    const driver::Results expected = evaluate(alone, 1);
    std::atomic<int> wrong{0};
    at_once([&](int caller) {
      gym::BatchEvaluator own(spec_);
      for (int threads = kMostThreads; threads > caller; --threads) {
        if (!same(evaluate(shared, threads), expected)) ++wrong;
        if (!same(evaluate(own, threads), expected)) ++wrong;
        if (!same_single(shared, expected, caller)) ++wrong;
      }
    });
    return wrong;
  }

 private:
  driver::Results evaluate(gym::BatchEvaluator& evaluator, int threads) const {
    driver::Results results(kMappings);
    evaluator.evaluate({space_, points_.data(), kMappings}, threads, results.rows.data(),
                       results.statuses.data());
    return results;
  }

  bool same_single(gym::BatchEvaluator& evaluator, const driver::Results& expected,
                   std::size_t index) const {
    gym::Mapping mapping;
    space_.decode(points_.data() + index * space_.parameters.size(), mapping);
    const gym::BatchEvaluator::Single single = evaluator.evaluate(mapping);
    return single.status == expected.statuses[index] &&
           std::memcmp(&single.metrics, &expected.rows[index], sizeof(gym::Metrics)) == 0;
  }

  gym::ScorerSpec spec_;
  gym::MapSpace space_;
  std::vector<std::int32_t> points_;
};

}  // namespace

int main() {
  int wrong = wrong_runs() + lonely_runs();
  // These wait for other threads, whatever it takes.
  if (wrong == 0) wrong = lost_exceptions();
  if (wrong > 0) std::fprintf(stderr, "thread pool: %d runs were wrong\n", wrong);
  for (const std::string model : {"exact", "maestro"}) {
    for (const bool guarded : {false, true}) {
      for (const driver::Square& square : driver::kSquares) {
        const int calls = Batch(model, guarded, square).wrong_calls();
        if (calls > 0) std::fprintf(stderr, "%s: %d calls gave other rows\n", model.c_str(), calls);
        wrong += calls;
      }
    }
  }
  return wrong > 0;
}
