// Seeds for images of the firmware: the embedded one as it is and changed, and programs of a few instructions.
#include <initializer_list>

#include "model/rv32/processor.hpp"
#include "testbench/fuzz/seeds.hpp"

namespace weft::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint8_t kEmbedded = 1, kWrongChecksum = 2, kOtherState = 4;
constexpr uint32_t kReset = rv32::Processor::kResetOffset;

Bytes head(uint8_t how, uint64_t seed = 1, uint16_t cut = 0) {
  Bytes bytes;
  append(bytes, how);
  append(bytes, seed);
  append(bytes, cut);
  return bytes;
}

/// The embedded image with these words at the reset vector.
Bytes changed(std::initializer_list<uint32_t> words) {
  Bytes bytes = head(kEmbedded);
  auto offset = static_cast<uint16_t>(kReset);
  for (const uint32_t word : words) {
    append(bytes, offset);
    append(bytes, word);
    offset = static_cast<uint16_t>(offset + 4);
  }
  return bytes;
}

/// An image of its own: the same word as each vector, then the program.
Bytes program(uint32_t vector, std::initializer_list<uint32_t> words) {
  Bytes bytes = head(0);
  for (uint32_t at = 0; at < kReset; at += 4) append(bytes, vector);
  for (const uint32_t word : words) append(bytes, word);
  return bytes;
}

}  // namespace

Seeds firmware_image_seeds() {
  constexpr uint32_t kWfi = 0x1050'0073, kForEver = 0x0000'006f, kIllegal = 0xffff'ffff;
  return {
      {"embedded", head(kEmbedded)},
      {"cut_off", head(kEmbedded, 1, 7)},
      {"checksum", head(kEmbedded | kWrongChecksum)},
      {"state", head(kEmbedded | kOtherState)},
      {"sleeps", program(kWfi, {kWfi, kForEver})},
      {"locks_up", program(kIllegal, {0x7000'02b7, 0x3052'9073, kIllegal})},      // lui t0; csrw mtvec, t0
      {"recursion", changed({0xff01'0113, 0x0011'2023, 0xff9f'f0ef})},            // addi sp; sw ra, 0(sp); jal ra, -8
      {"no_stack", changed({0x7000'0137, 0x0001'2023})},                          // lui sp; sw zero, 0(sp)
      {"registers", program(kForEver, {0x4004'02b7, 0x0002'a303, 0xff9f'f06f})},  // lui t0; lw t1, 0(t0); j -8
      {"divides", program(kWfi, {0x0220'c333, 0x0220'6333, 0x0220'b333, kForEver})}  // div; rem; mulhu
  };
}

}  // namespace weft::fuzz
