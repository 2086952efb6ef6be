// The lanes of every target this processor supports give the rows and statuses of the models'
// general path, on random layers, machines and points. Ends with 1 if one differs; prints, for each
// model that this build has and each target, its mappings, those of them that it leaves to the
// general path, and a digest of all rows, which any other processor should have too.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <random>

#include "../../native/evaluate/models.hpp"
#include "batches.hpp"

namespace {

using gym::Hardware;
using gym::Layer;
using gym::MapSpace;
using gym::Metrics;

constexpr int kProblems = 300;
constexpr std::int64_t kMappings = 50;
constexpr std::int64_t kAlone = 4;  // of these, one by one

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
  if (random.coin()) hardware.energies = {0.001, 1, 6, 2, 200};
  return hardware;
}

// The exact model's problems, and what its lanes need.
class Exact {
 public:
  using Problem = gym::exact::wide::Problem;
  static constexpr const char* kName = "exact";

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

  Exact(const Layer& layer, const Hardware& hardware)
      : nest_(gym::loop_nest(layer).value()),
        tiler_(nest_, layer.op),
        problem(nest_, hardware, tiler_) {}

 private:
  const gym::LoopNest nest_;
  const gym::exact::Tiler tiler_;

 public:
  const Problem problem;
};

// The same of MAESTRO's.
class Maestro {
 public:
  using Problem = gym::maestro::wide::Problem;
  static constexpr const char* kName = "maestro";

  static Layer any_layer(Random& random, const driver::Square& square) {
    Layer layer = driver::layer_of(square);
    if (random.coin()) layer.op = gym::Operator::dsconv;
    for (const gym::Dim axis : {gym::kY, gym::kX}) {
      if (random.coin()) layer.stride[axis] = random.up_to(square.r + 2);
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

  Maestro(const Layer& layer, const Hardware& hardware)
      : problem(gym::maestro::make_layer_table(layer, false), hardware) {}

  const Problem problem;
};

struct Score {
  std::int64_t mappings = 0, left = 0, wrong = 0;
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a

  void digest_row(gym::Status status, const Metrics& row) {
    add(static_cast<std::uint64_t>(status));
    const auto* figures = reinterpret_cast<const double*>(&row);
    for (std::size_t c = 0; c < gym::kMetrics; ++c) {
      // Processors differ in the bits of what is not a number.
      add(figures[c] != figures[c] ? 0 : std::bit_cast<std::uint64_t>(figures[c]));
    }
  }

 private:
  void add(std::uint64_t bits) { digest = (digest ^ bits) * 0x100000001b3; }
};

// One problem's mappings, the last block of which is seldom full, and some of them alone.
template <typename Side>
void compare(const Layer& layer, const Hardware& hardware, const MapSpace& space,
             const gym::Target<typename Side::Problem>& target, Score& score) {
  const auto points = driver::random_points(space, kMappings, 4);
  const auto model = gym::make_model(Side::kName, layer, hardware);
  const Side side(layer, hardware);
  driver::Results general(kMappings), lanes(kMappings);
  const auto blank = [](Metrics& row) {
    std::fill_n(reinterpret_cast<double*>(&row), gym::kMetrics,
                std::numeric_limits<double>::quiet_NaN());
  };
  std::for_each(general.rows.begin(), general.rows.end(), blank);
  std::for_each(lanes.rows.begin(), lanes.rows.end(), blank);
  gym::Mapping mapping;
  const auto point = [&](std::int64_t i) { return &points[i * std::ssize(space.parameters)]; };
  for (std::int64_t i = 0; i < kMappings; ++i) {
    space.decode(point(i), mapping);
    general.statuses[i] = model->evaluate(mapping, general.rows[i]);
  }
  gym::Batch batch(side.problem, target, target);
  const auto evaluate = [&](std::int64_t first, std::int64_t count) {
    batch.evaluate(
        {space, point(first), count}, {&lanes.rows[first], &lanes.statuses[first]},
        [](std::int64_t, const MapSpace::Chosen&) { return std::optional<gym::Status>(); },
        [&](std::int64_t i) {
          ++score.left;
          lanes.rows[first + i] = general.rows[first + i];
          return general.statuses[first + i];
        });
  };
  evaluate(0, kMappings - kAlone);
  for (std::int64_t i = kMappings - kAlone; i < kMappings; ++i) evaluate(i, 1);
  for (std::int64_t i = 0; i < kMappings; ++i) {
    const bool same = lanes.statuses[i] == general.statuses[i] &&
                      driver::same_bits(lanes.rows[i], general.rows[i]);
    score.wrong += same ? 0 : 1;
    score.digest_row(general.statuses[i], general.rows[i]);
  }
  score.mappings += kMappings;
}

template <typename Side>
std::int64_t check(std::size_t index) {
  const auto& target = *gym::targets<typename Side::Problem>()[index];
  Random random;
  Score score;
  for (int i = 0; i < kProblems; ++i) {
    const driver::Square square = any_square(random);
    const Layer layer = Side::any_layer(random, square);
    const Hardware hardware = any_machine(random);
    const MapSpace space = Side::space(square, layer, hardware);
    compare<Side>(layer, hardware, space, target, score);
  }
  std::printf("%s %s %d %d %llx\n", Side::kName, target.name, static_cast<int>(score.mappings),
              static_cast<int>(score.left), static_cast<unsigned long long>(score.digest));
  if (score.wrong > 0) {
    std::fprintf(stderr, "%s, %s: %d rows differ\n", Side::kName, target.name,
                 static_cast<int>(score.wrong));
  }
  return score.wrong;
}

}  // namespace

int main() {
  std::int64_t wrong = 0;
  for (std::size_t target = 0; target < gym::supported_targets(); ++target) {
    wrong += check<Exact>(target);
    if (gym::maestro::kHasExtendedPrecision) wrong += check<Maestro>(target);
  }
  return wrong > 0;
}
