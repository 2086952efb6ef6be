// What became of a mapping on an accelerator with any memories (H7): a list of its own, as codes of
// the other one stand in stored data.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gym::hierarchy {

// With `pool_overflow` there are results.
enum class Verdict : std::uint8_t { ok, bad_tile, fanout_exceeded, overflow, pool_overflow };

inline constexpr std::array<std::string_view, 5> kVerdictNames = {
    "ok", "bad_tile", "fanout_exceeded", "overflow", "pool_overflow"};

}  // namespace gym::hierarchy
