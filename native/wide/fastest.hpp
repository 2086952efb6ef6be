// Which of several ways of doing something this processor has.
#pragma once

namespace gym {

#ifdef __x86_64__
inline bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

// The fastest way, or null if the processor has none of these.
template <typename Way>
Way fastest_of(Way avx2, Way avx512) {
  return has_avx512() ? avx512 : has_avx2() ? avx2 : nullptr;
}
#endif

}  // namespace gym
