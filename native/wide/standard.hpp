// The standard headers of what is compiled once for each instruction set, to be included before it
// is chosen: functions of theirs that others use too must run on any processor.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>
