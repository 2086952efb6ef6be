#include "heads.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace gym::agents {

namespace {

// A step of a size is 2^-5 octaves at least, which moves most sizes by one choice, and one octave,
// a factor of two, at most. These are base-2 logarithms.
constexpr double kLeastLog = -5;
constexpr double kMostLog = 0;

// Chance of a step if a single size of a variant changes.
constexpr double kStepShare = 0.7;

// Numbers are drawn one array after the other, as numpy draws them.
template <typename Draw>
auto array_of(std::size_t count, const Draw& draw) {
  std::vector<decltype(draw())> drawn(count);
  std::generate(drawn.begin(), drawn.end(), draw);
  return drawn;
}

}  // namespace

Heads::Heads(std::vector<std::int64_t> counts, const std::vector<bool>& are_sizes,
             std::vector<double> places, Function exp2)
    : counts_(std::move(counts)),
      are_sizes_(are_sizes),
      places_(std::move(places)),
      exp2_(std::move(exp2)) {
  std::size_t start = 0;
  for (std::size_t head = 0; head < count(); ++head) {
    if (are_sizes_[head]) sizes_.push_back(head);
    starts_.push_back(start);
    start += static_cast<std::size_t>(counts_[head]);
  }
}

std::int64_t Heads::scaled(std::size_t head, std::int64_t action, double octaves) const {
  const double* places = &places_[starts_[head]];
  const std::int64_t last = counts_[head] - 1;
  const double target = places[action] + octaves;
  const std::int64_t above =
      std::min(std::lower_bound(places, places + last + 1, target) - places, last);
  const std::int64_t below = std::max<std::int64_t>(above - 1, 0);
  const bool is_below = target - places[below] < places[above] - target;
  const std::int64_t nearest = is_below ? below : above;
  if (nearest != action) return nearest;
  return std::clamp<std::int64_t>(action + (octaves > 0 ? 1 : -1), 0, last);
}

void Heads::explore(Actions actions, double chance, double local, Random& random,
                    std::int64_t* explored) const {
  const std::size_t size = actions.rows * count();
  const auto is_below = [&](double most) {
    return array_of(size, [&] { return random.uniform() < most; });
  };
  const std::vector<bool> replaced = is_below(chance);
  const std::vector<bool> steps = is_below(local);
  const std::vector<double> octaves = draw_octaves(size, random);
  for (std::size_t i = 0; i < size;) {
    for (std::size_t head = 0; head < count(); ++head, ++i) {
      const std::int64_t action = actions.first[i];
      const std::int64_t drawn = random.below(counts_[head]);
      const bool moves = replaced[i] && steps[i] && are_sizes_[head];
      const std::int64_t other = moves ? scaled(head, action, octaves[i]) : drawn;
      explored[i] = replaced[i] ? other : action;
    }
  }
}

void Heads::refine(Actions best, Actions drawn, double pairs, Random& random,
                   std::int64_t* variants) const {
  if (sizes_.size() < 2) throw std::invalid_argument("variants need two sizes or more");
  const std::size_t rows = drawn.rows;
  const auto numbers = [&](std::size_t from) {
    return array_of(rows, [&random, from] {
      return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(from)));
    });
  };
  const auto is_below = [&](double most) {
    return array_of(rows, [&] { return random.uniform() < most; });
  };
  const auto ranks = numbers(best.rows);
  const auto others = numbers(best.rows);
  const std::vector<double> octaves = draw_octaves(rows, random);
  const auto firsts = numbers(sizes_.size());
  const auto apart = numbers(sizes_.size() - 1);
  const std::vector<bool> twos = is_below(pairs);
  const auto singles = numbers(count());
  const std::vector<bool> steps = is_below(kStepShare);
  for (std::size_t row = 0; row < rows; ++row, variants += count()) {
    std::copy_n(best.first + std::min(ranks[row], others[row]) * count(), count(), variants);
    const int sign = random.sign();
    const std::size_t one = twos[row] ? sizes_[firsts[row]] : singles[row];
    const bool moves = twos[row] || (are_sizes_[one] && steps[row]);
    variants[one] =
        moves ? scaled(one, variants[one], octaves[row]) : drawn.first[row * count() + one];
    if (!twos[row]) continue;
    const std::size_t second = sizes_[(firsts[row] + 1 + apart[row]) % sizes_.size()];
    variants[second] = scaled(second, variants[second], octaves[row] * sign);
  }
}

// Steps of sizes, up or down, log-uniform in length.
std::vector<double> Heads::draw_octaves(std::size_t count, Random& random) const {
  auto octaves =
      array_of(count, [&] { return kLeastLog + (kMostLog - kLeastLog) * random.uniform(); });
  exp2_(octaves.data(), count);
  for (double& each : octaves) each *= random.sign();
  return octaves;
}

}  // namespace gym::agents
