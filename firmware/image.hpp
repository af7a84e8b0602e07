/// The firmware as the image that would ship: what the simulator's processor runs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::fw {

struct ImageFunction {
  uint32_t address;
  std::string_view name;
};

/// ROM contents from address 0 (reset vector at 0x80), and what a debugger would ask its symbols for.
struct Image {
  std::span<const std::byte> rom;
  uint32_t state_address;  ///< of weft::fw::State, in SRAM
  uint32_t state_bytes;
  uint32_t crc;                              ///< CRC-32 of `rom`: which image it is
  std::span<const ImageFunction> functions;  ///< by address
};

/// The image of this build; nullptr: it was built without a RISC-V compiler.
const Image* embedded_image();

}  // namespace weft::fw
