#ifdef __x86_64__
#define GYM_LANES 4
#include "evaluate.hpp"

GYM_TARGET(maestro, kAvx2, "avx2")
#endif
