// Every instruction set this processor has gives the rows of the models' path for single mappings,
// on random layers, machines and points. Ends with 1 if a row differs; prints, for each model and
// set, its mappings and those of them that it leaves to that path.
#include <algorithm>
#include <cstdio>
#include <random>

#include "../../native/exact/model.hpp"
#include "../../native/maestro/model.hpp"
#include "../../native/wide/fastest.hpp"
#include "batches.hpp"

namespace {

using gym::Hardware;
using gym::Layer;
using gym::MapSpace;
using gym::Metrics;

constexpr int kProblems = 300;
constexpr std::int64_t kMappings = 50;

class Random {
 public:
  std::int32_t up_to(std::int32_t most) { return static_cast<std::int32_t>(bits_() % most) + 1; }
  bool coin() { return bits_() % 2 == 0; }

 private:
  std::mt19937_64 bits_{3};
};

driver::Square any_square(Random& random) {
  const std::int32_t r = random.coin() ? 1 : random.up_to(5);
  return {random.up_to(40), random.up_to(40), r + random.up_to(60) - 1, r};
}

Hardware any_machine(Random& random) {
  Hardware hardware = driver::machine();
  hardware.num_pes = random.coin() ? 1024 : random.up_to(300);
  if (random.coin()) hardware.noc_bw = random.up_to(random.coin() ? 100 : 100000);
  if (random.coin()) hardware.offchip_bw = random.up_to(50);
  hardware.noc_latency = random.up_to(5) - 1;
  if (random.coin()) hardware.l2_bytes = random.up_to(200000);
  return hardware;
}

// The exact model's batch, and how a point gets into it.
class Exact {
 public:
  static constexpr const char* kName = "exact";
  using Evaluate = gym::exact::wide::Evaluate;

  static Layer any_layer(Random& random, const driver::Square& square) {
    Layer layer = driver::layer_of(square);
    if (random.coin()) return layer;
    layer.op = gym::Operator::ngconv;
    layer.extents.push_back({gym::kN, random.up_to(3)});
    layer.extents.push_back({gym::kG, random.up_to(3)});
    return layer;
  }

  static MapSpace space(const driver::Square& square, const Layer&, const Hardware&) {
    return driver::legal13(square);
  }

  Exact(const Layer& layer, const Hardware& hardware, const MapSpace& space, Evaluate evaluate)
      : nest_(gym::loop_nest(layer).value()),
        tiler_(nest_, layer.op),
        problem_(nest_, hardware),
        batch(problem_, evaluate) {
    batch.open(space, tiler_);
  }

  bool reads() const { return true; }
  bool add(const std::int32_t* point) { return batch.add(point) == gym::Status::ok; }

 private:
  const gym::LoopNest nest_;
  const gym::exact::Tiler tiler_;
  const gym::exact::wide::Problem problem_;

 public:
  gym::exact::wide::Batch batch;
};

// The same of MAESTRO's.
class Maestro {
 public:
  static constexpr const char* kName = "maestro";
  using Evaluate = gym::maestro::wide::Evaluate;

  static Layer any_layer(Random& random, const driver::Square& square) {
    Layer layer = driver::layer_of(square);
    if (random.coin()) layer.op = gym::Operator::dsconv;
    for (const gym::Dim axis : {gym::kY, gym::kX}) {
      if (random.coin()) layer.stride[axis] = random.up_to(square.r + 1);
    }
    return layer;
  }

  // Any dimension may be parallel; depthwise layers have no K.
  static MapSpace space(const driver::Square& square, const Layer& layer,
                        const Hardware& hardware) {
    using namespace gym;
    const bool depthwise = layer.op == Operator::dsconv;
    MapSpace space;
    space.dims = {kC, kOutY, kOutX, kR, kS};
    if (!depthwise) space.dims.push_back(kK);
    const auto add = [&space](std::int32_t choices) {
      space.parameters.push_back({"", choices});
      return static_cast<int>(space.parameters.size()) - 1;
    };
    const auto outputs = [&](Dim axis) { return (square.y - square.r) / layer.stride[axis] + 1; };
    const auto count = static_cast<std::int32_t>(space.dims.size());
    for (MapSpace::Level& level : space.levels) {
      level.order_column = add(depthwise ? 120 : 720);
      level.parallel.column = add(count);
      for (std::int32_t d = 0; d < count; ++d) level.parallel.values.push_back(d);
      for (const std::int32_t extent : {square.c, outputs(kY), outputs(kX)}) {
        level.tiles.push_back({add(extent), {}});
      }
      for (int window = 0; window < 2; ++window) level.tiles.push_back({-1, {square.r}});
      if (!depthwise) level.tiles.push_back({add(square.k), {}});
    }
    space.cluster = {add(hardware.num_pes), {}};
    return space;
  }

  Maestro(const Layer& layer, const Hardware& hardware, const MapSpace& space, Evaluate evaluate)
      : problem_(gym::maestro::make_layer_table(layer, false), hardware),
        batch(problem_, evaluate),
        reads_(batch.reads(space)) {}

  bool reads() const { return reads_; }
  bool add(const std::int32_t* point) {
    batch.add(point);
    return true;
  }

 private:
  const gym::maestro::wide::Problem problem_;

 public:
  gym::maestro::wide::Batch batch;

 private:
  bool reads_;
};

struct Score {
  int mappings = 0, left = 0, wrong = 0;
};

// One problem's mappings, of which the last block is seldom full.
template <typename Side>
void compare(const Layer& layer, const Hardware& hardware, const MapSpace& space,
             typename Side::Evaluate evaluate, Score& score) {
  const auto points = driver::random_points(space, kMappings, 4);
  const auto model = gym::make_model(Side::kName, layer, hardware);
  Side side(layer, hardware, space, evaluate);
  if (!side.reads()) return;
  std::vector<Metrics> expected;
  const auto run = [&] {
    side.batch.run();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      Metrics row;
      side.batch.read(static_cast<int>(i), row);
      ++score.mappings;
      if (!side.batch.right(static_cast<int>(i))) {
        ++score.left;
      } else if (!driver::same_bits(row, expected[i])) {
        ++score.wrong;
      }
    }
    expected.clear();
  };
  for (std::int64_t i = 0; i < kMappings; ++i) {
    const std::int32_t* point = &points[static_cast<std::size_t>(i) * space.parameters.size()];
    Metrics row;
    std::fill_n(reinterpret_cast<double*>(&row), gym::kMetrics,
                std::numeric_limits<double>::quiet_NaN());
    // What has no row must not be right: nothing is the same as NaN in all columns.
    model->evaluate(space, point, row);
    if (!side.add(point)) continue;
    expected.push_back(row);
    if (side.batch.full()) run();
  }
  if (side.batch.size() > 0) run();
}

template <typename Side>
int check(const char* name, typename Side::Evaluate evaluate) {
  Random random;
  Score score;
  for (int i = 0; i < kProblems; ++i) {
    const driver::Square square = any_square(random);
    const Layer layer = Side::any_layer(random, square);
    const Hardware hardware = any_machine(random);
    const MapSpace space = Side::space(square, layer, hardware);
    compare<Side>(layer, hardware, space, evaluate, score);
  }
  std::printf("%s %s %d %d\n", Side::kName, name, score.mappings, score.left);
  if (score.wrong > 0) {
    std::fprintf(stderr, "%s, %s: %d rows differ\n", Side::kName, name, score.wrong);
  }
  return score.wrong;
}

}  // namespace

int main() {
  int wrong = 0;
#ifdef __x86_64__
  if (gym::has_avx2()) {
    wrong += check<Exact>("avx2", gym::exact::wide::evaluate_avx2);
    wrong += check<Maestro>("avx2", gym::maestro::wide::evaluate_avx2);
  }
  if (gym::has_avx512()) {
    wrong += check<Exact>("avx512", gym::exact::wide::evaluate_avx512);
    wrong += check<Maestro>("avx512", gym::maestro::wide::evaluate_avx512);
  }
#endif
  return wrong > 0;
}
