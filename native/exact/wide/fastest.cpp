#include "instruction_sets.hpp"

namespace gym::exact::wide {

Evaluate fastest() {
#ifdef __x86_64__
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0 &&
                      __builtin_cpu_supports("avx512dq") != 0 &&
                      __builtin_cpu_supports("avx512vl") != 0;
  if (avx512) return evaluate_avx512;
  if (__builtin_cpu_supports("avx2") != 0) return evaluate_avx2;
#endif
  return nullptr;
}

}  // namespace gym::exact::wide
