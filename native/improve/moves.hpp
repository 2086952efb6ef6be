// Moves: what an action changes of a point, and what is shown of a point.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace gym::improve {

// How the choice of a parameter changes. Sizes: to the next smaller or larger choice; to the
// largest one up to half or double; to the least; to all of what they cut; to the least that makes
// one chunk fewer, one more, or as many as now.
enum class Rule : std::uint8_t {
  stay,
  swap,       // of an order: the loops at a place and behind it
  innermost,  // of an order: a loop, behind all others
  set,
  minus,
  plus,
  half,
  twice,
  one,
  all,
  fewer,
  more,
  even
};
inline constexpr std::int32_t kRules = static_cast<std::int32_t>(Rule::even) + 1;

struct Change {
  std::int32_t column = 0;
  Rule rule = Rule::stay;
  std::int32_t argument = 0;  // place, loop or choice
};

// One action: a change, or two of different columns.
using Move = std::array<Change, 2>;

class Moves {
 public:
  struct Parameter {
    enum class Kind : std::uint8_t { order, parallel, size };

    Kind kind = Kind::size;
    std::int32_t choices = 1;
    std::int32_t loops = 0;            // that an order permutes
    std::vector<std::int32_t> values;  // of sizes, ascending; none stand for 1, 2, 3, ...
    std::int32_t whole = -1;           // column of what a size cuts; -1: the largest size
    std::vector<float> shown;          // of each size
  };

  // Throws std::invalid_argument for changes that the parameters do not have.
  Moves(std::vector<Parameter> parameters, std::vector<Move> moves);

  std::int64_t width() const { return std::ssize(parameters_); }
  std::int64_t count() const { return std::ssize(moves_); }

  // Writes what a move changes of the present point; nothing is clipped.
  void make(std::int64_t move, const std::int32_t* present, std::int32_t* point) const {
    for (const Change& change : moves_[static_cast<std::size_t>(move)]) {
      if (change.rule != Rule::stay) {
        point[change.column] = after(change, present);
      }
    }
  }

  // The change of a move that has one alone; else null.
  const Change* only(std::int64_t move) const {
    const auto& [first, second] = moves_[static_cast<std::size_t>(move)];
    return second.rule == Rule::stay ? &first : nullptr;
  }
  // The choice after a change.
  std::int32_t after(const Change& change, const std::int32_t* present) const;

  // Numbers that are shown of a point, and the column of each: of an order the place of each loop,
  // of a parallel dimension a 1 among zeros, of a size what it was given.
  const std::vector<std::int32_t>& shown() const { return shown_; }
  void show(const std::int32_t* point, float* to) const;

 private:
  void require(const Change& change) const;
  std::int32_t resized(const Parameter& parameter, const Change& change,
                       const std::int32_t* present) const;
  std::int64_t size_of(std::int32_t column, const std::int32_t* point) const;

  std::vector<Parameter> parameters_;
  std::vector<Move> moves_;
  std::vector<std::int32_t> shown_;
};

}  // namespace gym::improve
