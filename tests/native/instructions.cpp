// Does a fixed amount of work inside `measured`, for callgrind to count: MODEL [guarded | alone],
// or `reference` for a loop that no change of the project alters. Prints how much that was.
#include <cstdio>
#include <deque>
#include <string>

#include "problems.hpp"

namespace {

constexpr std::int64_t kMappings = 1000;  // of each layer
constexpr std::int64_t kIterations = 1'000'000;

class Work {
 public:
  Work(const std::string& model, const std::string& how, const driver::Square& square)
      : evaluator_({model, driver::layer_of(square), driver::machine(), how == "guarded"}),
        together_(how == "alone" ? 1 : kMappings),
        space_(driver::legal13(square)),
        points_(driver::random_points(space_, kMappings, 1)),
        results_(kMappings) {}

  double run() {
    for (std::int64_t i = 0; i < kMappings; i += together_) {
      evaluator_.evaluate({space_, &points_[i * space_.parameters.size()], together_}, 1,
                          &results_.rows[i], &results_.statuses[i]);
    }
    return results_.rows.back().latency_cycles;
  }

 private:
  gym::BatchEvaluator evaluator_;
  std::int64_t together_;
  gym::MapSpace space_;
  std::vector<std::int32_t> points_;
  driver::Results results_;
};

// Integer and floating-point arithmetic, a branch, a load and a store, each waiting for the last.
double reference_loop() {
  std::array<double, 64> table{};
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < kIterations; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double& entry = table[state >> 58];
    const double drawn = static_cast<double>(state >> 11) / static_cast<double>(i + 1);
    entry = drawn > entry ? drawn : entry + 1;
  }
  double sum = 0;
  for (const double each : table) sum += each;
  return sum;
}

}  // namespace

extern "C" [[gnu::noinline]] double measured(std::deque<Work>& works) {
  if (works.empty()) return reference_loop();
  double last = 0;
  for (Work& work : works) last = work.run();
  return last;
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "reference";
  std::deque<Work> works;
  if (what != "reference") {
    for (const driver::Square& square : driver::kSquares) {
      // Run once beforehand: scorers and tables are made but once.
      works.emplace_back(what, argc > 2 ? argv[2] : "", square).run();
    }
  }
  const double result = measured(works);
  const auto mappings = static_cast<std::int64_t>(works.size()) * kMappings;
  std::printf("%lld %.17g\n", static_cast<long long>(works.empty() ? kIterations : mappings),
              result);
}
