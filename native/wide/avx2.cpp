#ifdef __x86_64__
#define GYM_LANES 4
#define GYM_INSTRUCTIONS "avx2"
#include "lane_code.hpp"

const gym::Target gym::kAvx2 = target_named("avx2");
#endif
