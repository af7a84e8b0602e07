/// Programs in HBM: the checks of an image, and the table of a function's loaded programs.
#pragma once
#include <stdint.h>

#include "firmware/status.hpp"

namespace weft::fw {

struct Function;
struct State;

/// A loaded program. The image stays in HBM; a launch reads its kernel entry again and checks it again. Addresses
/// are those of the chip.
struct Program {
  bool loaded;
  uint32_t generation;  ///< of the slot, so that an old id does not reach a new program
  uint64_t image_address;
  uint32_t kernel_count;
  uint64_t commands_address;
  uint64_t commands;  ///< number of commands
  uint64_t constants_address;
  uint64_t constants_bytes;
};

/// Checks a header against the image's size and this chip, without overflow for any input. EXECUTABLE_INVALID {byte
/// offset in the image, value found}.
Status check_program_header(const weft_program_header& header, uint64_t image_bytes, uint64_t fingerprint);

/// Checks kernel `index` of a program with `commands` commands. EXECUTABLE_INVALID as above.
Status check_program_kernel(const weft_program_kernel& kernel, uint32_t index, uint64_t commands);

/// Reads and checks the image at `address` of the function's HBM, and gives it an id (never 0).
/// INVALID_ARGUMENT {offset in the submission entry, value}, EXECUTABLE_INVALID, NO_DEVICE_MEMORY (no slot), DMA_FAULT.
Status load_program(State& state, Function& function, uint64_t address, uint64_t bytes, uint32_t* id);

/// INVALID_ARGUMENT: no such program. BUSY: a launch runs it.
Status unload_program(State& state, Function& function, uint64_t id);

/// The function's program with this id, or nullptr.
Program* find_program(Function& function, uint64_t id);

/// Bytes of the image before its kernel `index`.
constexpr uint64_t kernel_offset(uint32_t index) {
  return sizeof(weft_program_header) + uint64_t{index} * sizeof(weft_program_kernel);
}

}  // namespace weft::fw
