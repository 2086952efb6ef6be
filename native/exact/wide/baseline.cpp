#define GYM_LANES 2
#include "evaluate.hpp"

GYM_TARGET(exact, kBaseline, "baseline")
