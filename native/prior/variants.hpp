// Variants of good mappings of two levels, and mappings in an order in which they differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../core/map_space.hpp"
#include "../core/numpy_order.hpp"

namespace gym::prior {

// A variant differs from its vector by one of these changes: a size is scaled; two sizes are scaled
// by the same factor, in the same or in opposite directions, as where a buffer is full one tile can
// grow only if another shrinks; a size makes a few pieces more or less, all as even as they can be;
// a loop moves to another place; a level is parallel over another dimension.
class Variants {
 public:
  // Extents are of the dimensions of the space.
  Variants(MapSpace space, std::vector<std::int64_t> extents, std::int64_t pes);

  const MapSpace& space() const { return space_; }
  // Writes variants of some of `count` vectors, the best first; the better one, the more it has.
  // Throws std::invalid_argument if nothing is a size.
  void draw(const std::int64_t* best, std::size_t count, std::size_t variants, Random& random,
            std::int32_t* to) const;

 private:
  // A size, and what it cuts: an outer tile, or, without a column of that, indices or PEs.
  struct Size {
    Choice choice, outer;
    std::int64_t whole;
  };

  void change(std::size_t kind, Random& random, std::int32_t* point) const;
  void resize(const Size& size, double octaves, std::int32_t* point) const;
  void recut(const Size& size, int more, std::int32_t* point) const;
  void reorder(Random& random, std::int32_t* point) const;
  void turn(Random& random, std::int32_t* point) const;
  // The choice of a size, or of the largest one below it.
  std::int32_t up_to(const Choice& choice, std::int64_t size) const;

  MapSpace space_;
  std::vector<Size> sizes_;  // by column
};

// An order of rows of `width` choices: the first, then always the one that is likeliest by now, of
// as many as `places`. A row becomes less likely, by `common` in the logarithm, with every part,
// some columns, that it shares with one ahead of it.
std::vector<std::int64_t> varied(const std::int32_t* rows, std::size_t count, std::size_t width,
                                 const std::vector<std::vector<std::size_t>>& parts,
                                 const double* logarithms, double common, std::size_t places);

}  // namespace gym::prior
