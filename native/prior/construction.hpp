// Mappings of many copies on their way, decision by decision, by whoever chooses the options.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "proposer.hpp"

namespace gym::prior {

class Construction {
 public:
  using Grounds = std::vector<std::shared_ptr<Proposer>>;

  // Grounds have contexts and points of the same size.
  Construction(Grounds grounds, std::int64_t count);

  std::int64_t count() const { return std::ssize(copies_); }
  std::int64_t grounds() const { return std::ssize(grounds_); }
  std::int64_t width() const { return std::ssize(grounds_[0]->space().parameters); }
  std::int64_t seen_width() const;

  bool begun(std::int64_t copy) const { return of(copy).ground != nullptr; }
  // Of a copy that has begun: how many options its next decision has, none where all are made, ...
  int options(std::int64_t copy) const { return of(copy).options.count; }
  // ... its point, which is a mapping's then, ...
  const std::int32_t* point(std::int64_t copy) const { return of(copy).partial.point.data(); }
  // ... and what is seen: the context, a 1 among zeros for the decision, the state, and the
  // features of all options; where all is decided the last three are zeros.
  void see(std::int64_t copy, float* to) const;

  void begin(std::int64_t copy, std::int64_t ground);
  // Takes an option of those there are, if any; a number beyond them is taken modulo how many.
  void choose(std::int64_t copy, std::int64_t option);

 private:
  struct Copy {
    Proposer* ground = nullptr;
    std::size_t at = 0;
    Partial partial;
    Options options;
    std::array<float, kStateSize> state;
  };

  const Copy& of(std::int64_t copy) const { return copies_[static_cast<std::size_t>(copy)]; }
  void advance(Copy& copy) const;

  Grounds grounds_;
  std::vector<Copy> copies_;
};

}  // namespace gym::prior
