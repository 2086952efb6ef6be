#ifdef __x86_64__
#define GYM_LANES 4
#include "evaluate.hpp"

GYM_TARGET(exact, kAvx2, "avx2")
#endif
