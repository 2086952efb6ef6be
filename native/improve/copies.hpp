// Copies of an environment that improve a mapping each: steps, observations and masks of all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../core/metrics.hpp"
#include "../core/status.hpp"
#include "ground.hpp"

namespace gym::improve {

class Copies {
 public:
  using Indices = std::span<const std::int64_t>;

  // Where results of K points go, one after the other; rows may be null.
  struct Outcome {
    double* values;
    std::int64_t* codes;  // of statuses
    Metrics* rows;
  };

  // Grounds have the same number of moves, columns and numbers that are seen. `in_full` is whether
  // rows are asked for.
  Copies(std::vector<Ground> grounds, std::int64_t count, bool in_full, int threads);

  std::int64_t count() const { return std::ssize(ground_of_); }
  std::int64_t width() const { return grounds_[0].moves.width(); }
  std::int64_t moves() const { return grounds_[0].moves.count(); }
  std::int64_t grounds() const { return std::ssize(grounds_); }
  std::int64_t seen_width() const { return seen_width_; }

  // Of a copy and those behind it: ground, below 0 before there is one; present point and value;
  // what is seen.
  const std::int32_t* grounds_of(std::int64_t copy) const { return &ground_of_[at(copy, 1)]; }
  const std::int32_t* present(std::int64_t copy) const { return &points_[at(copy, width())]; }
  const double* values(std::int64_t copy) const { return &values_[at(copy, 1)]; }
  const float* seen(std::int64_t copy) const { return &seen_[at(copy, seen_width_)]; }

  // Puts a copy on a ground; it has no mapping there yet.
  void place(std::int64_t copy, std::int64_t ground);

  // Evaluates a point, in range, for each of some copies; those that are valid become present.
  void try_points(Indices copies, const std::int32_t* points, const Outcome& outcome);

  // The point of a copy after moves of different columns.
  void after(std::int64_t copy, Indices moves, std::int32_t* point) const;

  // Whether each move of a copy leads to another mapping that may be valid.
  void mask(std::int64_t copy, bool* allowed);

 private:
  static std::size_t at(std::int64_t row, std::int64_t width) {
    return static_cast<std::size_t>(row * width);
  }
  std::size_t index_of(std::int64_t copy) const {
    return static_cast<std::size_t>(ground_of_[at(copy, 1)]);
  }
  const Ground& ground_of(std::int64_t copy) const { return grounds_[index_of(copy)]; }
  void gather(Indices copies, const std::int32_t* points);
  void accept(std::int64_t copy, const std::int32_t* point, double value, const Metrics& row);

  std::vector<Ground> grounds_;
  std::int64_t seen_width_;
  Detail detail_;
  int threads_;
  // By copy.
  std::vector<std::int32_t> ground_of_;
  std::vector<std::int32_t> points_;
  std::vector<double> values_;
  std::vector<float> seen_;
  // Of points that are tried, ground by ground: their places, and where those of each ground end.
  std::vector<std::size_t> order_, ends_;
  std::vector<std::int32_t> gathered_;
  std::vector<Metrics> rows_;
  std::vector<Status> statuses_;
  // Points: where a move leads, and the last one that was not allowed.
  std::vector<std::int32_t> moved_, failed_;
};

}  // namespace gym::improve
