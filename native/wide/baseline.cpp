#define GYM_LANES 2
#include "lane_code.hpp"

const gym::Target gym::kBaseline = target_named("baseline");
