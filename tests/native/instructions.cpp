// Does a fixed amount of work inside `measured`, for callgrind to count: MODEL [guarded | alone],
// `hierarchy`, or `reference` for a loop that no change of the project alters. Prints how much that
// was.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "../../native/evaluate/batch_of.hpp"
#include "hierarchies.hpp"

namespace {

constexpr std::int64_t kMappings = 1000;  // of each layer
constexpr std::int64_t kIterations = 1'000'000;

using Work = std::function<double()>;

// Evaluates some points, so many at a time.
template <typename Evaluator, typename Space>
class Batches {
 public:
  Batches(std::unique_ptr<Evaluator> evaluator, Space space, std::int64_t together)
      : evaluator_(std::move(evaluator)),
        together_(together),
        space_(std::move(space)),
        points_(driver::random_points(space_, kMappings, 1)),
        results_(kMappings) {}

  double operator()() {
    for (std::int64_t i = 0; i < kMappings; i += together_) {
      evaluator_->evaluate({space_, &points_[i * space_.parameters.size()], together_}, 1,
                           &results_.rows[i], &results_.statuses[i]);
    }
    return results_.rows.back().latency_cycles;
  }

 private:
  std::shared_ptr<Evaluator> evaluator_;
  std::int64_t together_;
  Space space_;
  std::vector<std::int32_t> points_;
  driver::Results results_;
};

Work work_of(const std::string& model, const std::string& how, const driver::Square& square) {
  if (model == "hierarchy") {
    using Evaluator = gym::BatchOf<gym::hierarchy::Scorer>;
    return Batches(std::make_unique<Evaluator>(driver::on_three_memories(square)),
                   driver::three_memories(square), kMappings);
  }
  gym::ScorerSpec spec{model, driver::layer_of(square), driver::machine(), how == "guarded"};
  return Batches(std::make_unique<gym::BatchEvaluator>(spec), driver::legal13(square),
                 how == "alone" ? 1 : kMappings);
}

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

extern "C" [[gnu::noinline]] double measured(const std::vector<Work>& works) {
  if (works.empty()) return reference_loop();
  double last = 0;
  for (const Work& work : works) last = work();
  return last;
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "reference";
  std::vector<Work> works;
  if (what != "reference") {
    for (const driver::Square& square : driver::kSquares) {
      // Run once beforehand: scorers and tables are made but once.
      works.emplace_back(work_of(what, argc > 2 ? argv[2] : "", square))();
    }
  }
  const double result = measured(works);
  const auto mappings = static_cast<std::int64_t>(works.size()) * kMappings;
  std::printf("%lld %.17g\n", static_cast<long long>(works.empty() ? kIterations : mappings),
              result);
}
