/// The text of a comparison that failed: command, tile, row, lane, both values in hex and decimal, cycle, seed, and the
/// line that reruns it.
#pragma once
#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>

#include "testbench/rtl/bench/verilated_bench.hpp"

namespace weft::bench {

enum class Element : uint8_t { kBf16, kF32, kI32, kWord };

/// A value as it is read: 3f800000 (1).
inline std::string element_text(Element element, uint32_t bits) {
  switch (element) {
    case Element::kBf16:
      return fmt::format("{:04x} ({})", bits & 0xffff, std::bit_cast<float>(bits << 16));
    case Element::kF32:
      return fmt::format("{:08x} ({})", bits, std::bit_cast<float>(bits));
    case Element::kI32:
      return fmt::format("{:08x} ({})", bits, static_cast<int32_t>(bits));
    case Element::kWord:
      break;
  }
  return fmt::format("{:08x} ({})", bits, bits);
}

struct Mismatch {
  std::string command;  ///< all its fields
  unsigned tile = 0, row = 0, lane = 0;
  Element element = Element::kWord;
  uint32_t rtl = 0, reference = 0;
  uint64_t cycle = 0;  ///< in which it was seen
  uint64_t seed = 0;
};

inline std::string mismatch_text(const Mismatch& m) {
  return fmt::format("tile {} row {} lane {}: rtl {}, reference {}; cycle {}, seed {}\n  command {}\n  {}", m.tile,
                     m.row, m.lane, element_text(m.element, m.rtl), element_text(m.element, m.reference), m.cycle,
                     m.seed, m.command, rerun_line(m.seed, m.cycle));
}

}  // namespace weft::bench
