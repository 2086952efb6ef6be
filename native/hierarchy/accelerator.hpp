// An accelerator as a list of memories and fan-outs, outermost first; the MAC comes last (H1).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "../core/layer.hpp"

namespace gym::hierarchy {

using PerTensorFlag = std::array<bool, kTensors>;
using PerTensorCount = std::array<std::int64_t, kTensors>;

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Arrays have room for so many.
inline constexpr int kMaxElements = 48;
inline constexpr int kMaxFanouts = 24;

// In front of a memory: lines of larger tensors take cycles of its port besides (H6).
struct Cache {
  double bits = kUnlimited;
  std::int64_t line_bits = 1;
  double miss_cycles = 0;  // a line
};

struct Memory {
  PerTensorFlag keeps{};    // the others bypass it
  PerTensorFlag forgets{};  // history `none`: every step loads its whole tile
  PerTensorCount width{};   // bits of a word
  int buffers = 1;          // tiles held
  // The element with the physical memory that this is a part of; the rest is that one's.
  int pool = 0;
  // Bits, of each tensor and of all together.
  std::array<double, kTensors + 1> capacity{kUnlimited, kUnlimited, kUnlimited, kUnlimited};
  // Bits a cycle and instance; one port for both ways has `read_bw`.
  double read_bw = kUnlimited, write_bw = kUnlimited;
  bool one_port = false;
  double read_pj = 0, write_pj = 0;  // a bit
  // Its port moves each run of words in whole beats, of so many bits; 0: word by word (H6).
  std::int64_t beat_bits = 0;
  bool gaps = false;  // its port also moves what lies between the words of a tile of inputs
  Cache cache;
  // Of every step: cycles of the port outside, least cycles of computing, those if it loads.
  double launch_cycles = 0;
  std::int64_t step_cycles = 0, load_cycles = 0;
  double finish_cycles = 0;  // of computing, for each word of outputs of unit 0
  // Share of the first fill that each further tile of outputs waits for, of the first memory.
  double refill = 0;

  bool paces() const { return step_cycles > 0 || load_cycles > 0; }
};

struct Fanout {
  std::int64_t size = std::numeric_limits<std::int64_t>::max();
  // Whether its units get words of inputs and filters in one read, and add up outputs on the way.
  PerTensorFlag together{true, true, true};
  double pj = 0;           // a bit that a unit below takes in or sends up
  double bw = kUnlimited;  // bits a cycle that cross an instance, both ways together (H6)
};

struct Element {
  bool is_memory = true;
  Memory memory;
  Fanout fanout;
};

struct Accelerator {
  std::vector<Element> elements;
  std::int64_t simd_lanes = 1;  // MACs a cycle
  PerTensorFlag latch{};        // whether a MAC keeps its operand for the next step
  double mac_pj = 0;
  double leak_pj = 0;  // of everything, a cycle

  // What is above the MAC counts as one more element: the loops that leave one MAC (H2).
  int rest() const { return static_cast<int>(elements.size()); }
  int mac() const { return rest() + 1; }
};

enum class PartialSums : std::uint8_t { readback, bias, destination };

// Switches to the conventions of others (H8).
struct Options {
  bool halo_of_innermost = false;  // rows of windows stay as the innermost loop advances, else none
  bool share_tiles = false;        // units share equal tiles, no overlapping windows
  PartialSums psum = PartialSums::readback;
  bool drains = true;   // words that leave a memory are read from it
  bool exposed = true;  // the first fill and the last drain take time of their own
};

// What became of a mapping (H7): a list of its own, as codes of the other one stand in stored data.
// With `pool_overflow` there are results.
enum class Verdict : std::uint8_t { ok, bad_tile, fanout_exceeded, overflow, pool_overflow };

inline constexpr std::array<std::string_view, 5> kVerdictNames = {
    "ok", "bad_tile", "fanout_exceeded", "overflow", "pool_overflow"};

}  // namespace gym::hierarchy
