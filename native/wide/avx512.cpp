#ifdef __x86_64__
#define GYM_LANES 8
#define GYM_INSTRUCTIONS "avx512f,avx512dq,avx512vl"
#include "lane_code.hpp"

const gym::Target gym::kAvx512 = target_named("avx512");
#endif
