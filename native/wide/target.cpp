#include "target.hpp"

#include <vector>

namespace gym {

std::span<const Target* const> targets() {
  static const std::vector<const Target*> supported = [] {
    std::vector<const Target*> list = {&kBaseline};
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) list.push_back(&kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      list.push_back(&kAvx512);
    }
#endif
    return list;
  }();
  return supported;
}

}  // namespace gym
