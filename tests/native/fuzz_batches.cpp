// libFuzzer target: points of any map space of any layer on any machine, under both models, guarded
// or not. Together they must have the rows they have one by one.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "batches.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::uint64_t seed = std::hash<std::string_view>()(bytes);
  if (!driver::batches_agree(driver::read_problem({data, size}), seed)) {
    std::fprintf(stderr, "points have other rows together\n");
    std::abort();
  }
  return 0;
}
