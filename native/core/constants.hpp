// Cost constants of MAESTRO and of the mappers built on it: each with its unit and source, typed
// nowhere else.
#pragma once

namespace gym::constants {

// Energy of one multiply-accumulate in nJ; every other access is counted in MACs.
// Source: MAESTRO's CSV column "Activity count-based Energy (nJ)".
inline constexpr double kMacEnergyNj = 0.00023;
// Energy of one L1 and of one L2 access, in MACs. Source: MAESTRO's energy table.
inline constexpr double kL1AccessMacs = 1.68;
inline constexpr double kL2AccessMacs = 18.61;

// MAESTRO's area (um^2) and power (mW) of a PE (per SIMD lane) and of a buffer (per byte).
// Source: MAESTRO's CSV columns "Area" and "Power".
inline constexpr double kPeAreaPerLane = 283;
inline constexpr double kPePowerPerLane = 1.2223;
inline constexpr double kBufferAreaPerByte = 0.104;
inline constexpr double kBufferPowerPerByte = 0.00345;
// MAESTRO's bus: linear in the PEs, times the bandwidth (words per cycle). Same source.
inline constexpr double kBusPerPe = 14.662;
inline constexpr double kBusBase = 28.895;
inline constexpr double kBusArea = 101.7938;
inline constexpr double kBusMicrowatt = 0.8;
// MAESTRO's arbiter: quadratic in the PEs, never less than one unit. Same source.
inline constexpr double kArbiterSquare = 1.2886;
inline constexpr double kArbiterLinear = 5.5814;
inline constexpr double kArbiterBase = -23.711;
inline constexpr double kArbiterArea = 395.473;
inline constexpr double kArbiterPower = 0.34;

// Area in um^2 of a PE, of a block of L2 and of a block of L1 (sizes in bytes).
// Source: the cost function of GAMMA, reused by ArchGym.
inline constexpr double kPeArea = 4470;
inline constexpr double kL2BlockArea = 4161.536;
inline constexpr double kL2BlockBytes = 32768;
inline constexpr double kL1BlockArea = 4505.1889;
inline constexpr double kL1BlockBytes = 64;

// mW of one nJ per cycle at a clock of 1 GHz.
inline constexpr double kMilliwattPerNjPerCycle = 1e3;

}  // namespace gym::constants
