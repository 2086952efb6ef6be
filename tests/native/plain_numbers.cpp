// What the plain core says of bytes, for drivers that hold the product's core: compiled with the
// namespace `gym` under another name.
#include "outcomes.hpp"

extern "C" [[gnu::visibility("default")]] void plain_numbers(const std::uint8_t* data,
                                                             std::size_t size,
                                                             std::vector<double>& list) {
  list = driver::all_numbers(driver::read_problem({data, size}));
}
