#ifdef __x86_64__
#define GYM_LANES 8
#include "evaluate.hpp"

GYM_TARGET(exact, kAvx512, "avx512")
#endif
