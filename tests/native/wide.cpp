// Every instruction set this processor has gives the rows of the exact model's path for single
// mappings, on random layers, machines and points. Ends with 1 if a row differs; prints, for each
// set, its mappings and those of them whose PEs wait, which it leaves to that path.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>

#include "../../native/exact/model.hpp"
#include "../../native/exact/wide/batch.hpp"
#include "problems.hpp"

namespace {

using gym::exact::wide::Batch;
using gym::exact::wide::Evaluate;

constexpr int kProblems = 300;
constexpr std::int64_t kMappings = 50;

class Random {
 public:
  std::int32_t up_to(std::int32_t most) { return static_cast<std::int32_t>(bits_() % most) + 1; }
  bool coin() { return bits_() % 2 == 0; }

 private:
  std::mt19937_64 bits_{3};
};

gym::Layer any_layer(Random& random, driver::Square& square) {
  square.r = random.coin() ? 1 : random.up_to(5);
  square = {random.up_to(40), random.up_to(40), square.r + random.up_to(60) - 1, square.r};
  gym::Layer layer = driver::layer_of(square);
  if (random.coin()) return layer;
  layer.op = gym::Operator::ngconv;
  layer.extents.push_back({gym::kN, random.up_to(3)});
  layer.extents.push_back({gym::kG, random.up_to(3)});
  return layer;
}

gym::Hardware any_machine(Random& random) {
  gym::Hardware hardware = driver::machine();
  hardware.num_pes = random.coin() ? 1024 : random.up_to(300);
  if (random.coin()) hardware.noc_bw = random.up_to(random.coin() ? 100 : 100000);
  if (random.coin()) hardware.offchip_bw = random.up_to(50);
  hardware.noc_latency = random.up_to(5) - 1;
  if (random.coin()) hardware.l2_bytes = random.up_to(200000);
  return hardware;
}

struct Score {
  int mappings = 0, waiting = 0, wrong = 0;
};

// One problem's mappings, of which the last block is seldom full.
void compare(const gym::Layer& layer, const gym::Hardware& hardware, const gym::MapSpace& space,
             Evaluate evaluate, Score& score) {
  const auto points = driver::random_points(space, kMappings, 4);
  const gym::LoopNest nest = gym::loop_nest(layer).value();
  const gym::exact::Tiler tiler(nest, layer.op);
  const gym::exact::wide::Problem problem(nest, hardware);
  gym::exact::ExactModel model(layer, hardware);
  Batch batch(problem, evaluate);
  std::vector<gym::Metrics> expected;
  const auto run = [&] {
    batch.run();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      gym::Metrics row;
      batch.read(static_cast<int>(i), row);
      row.csv_energy_nj = expected[i].csv_energy_nj;
      ++score.mappings;
      if (!batch.right(static_cast<int>(i))) {
        ++score.waiting;
      } else if (std::memcmp(&row, &expected[i], sizeof(row)) != 0) {
        ++score.wrong;
      }
    }
    expected.clear();
  };
  for (std::int64_t i = 0; i < kMappings; ++i) {
    const std::int32_t* point = &points[static_cast<std::size_t>(i) * space.parameters.size()];
    gym::exact::Tiling tiling;
    if (tiler.tile(space, point, hardware.num_pes, tiling) != gym::Status::ok) continue;
    gym::Metrics row{};
    if (model.evaluate(space, point, row) != gym::Status::ok) continue;
    expected.push_back(row);
    batch.add(tiling);
    if (batch.full()) run();
  }
  if (batch.size() > 0) run();
}

int check(const char* name, Evaluate evaluate) {
  Random random;
  Score score;
  for (int i = 0; i < kProblems; ++i) {
    driver::Square square{};
    const gym::Layer layer = any_layer(random, square);
    const gym::Hardware hardware = any_machine(random);
    compare(layer, hardware, driver::legal13(square), evaluate, score);
  }
  std::printf("%s %d %d\n", name, score.mappings, score.waiting);
  if (score.wrong > 0) std::fprintf(stderr, "%s: %d rows differ\n", name, score.wrong);
  return score.wrong;
}

}  // namespace

int main() {
  int wrong = 0;
#ifdef __x86_64__
  using namespace gym::exact::wide;
  if (__builtin_cpu_supports("avx2") != 0) wrong += check("avx2", evaluate_avx2);
  if (fastest() == evaluate_avx512) wrong += check("avx512", evaluate_avx512);
#endif
  return wrong > 0;
}
