/// Programs in HBM: the checks of an image, and the table of a function's loaded programs.
#pragma once
#include <stdint.h>

#include "firmware/status.hpp"

namespace weft::fw {

struct Function;
struct State;

/// The record of a loaded program. The image stays in HBM; a launch reads its kernel entry again and checks it again.
/// Addresses are those of the chip, below kProgramHbmBytes.
struct Program {
  uint32_t id;
  uint32_t kernel_count;
  uint32_t commands;                                   ///< number of commands
  uint32_t image_unit, commands_unit, constants_unit;  ///< addresses in kProgramAlignment
  uint32_t constants_granules;
  uint32_t image_units;  ///< size of the image

  constexpr uint64_t image_address() const { return uint64_t{image_unit} * WEFT_COMMAND_BYTES; }
  constexpr uint64_t commands_address() const { return uint64_t{commands_unit} * WEFT_COMMAND_BYTES; }
  constexpr uint64_t constants_address() const { return uint64_t{constants_unit} * WEFT_COMMAND_BYTES; }
  constexpr uint64_t image_bytes() const { return uint64_t{image_units} * WEFT_COMMAND_BYTES; }
  constexpr uint64_t constants_bytes() const { return uint64_t{constants_granules} * WEFT_CORE_DMA_GRANULE_BYTES; }
};

/// Of images, and of the tables in them.
inline constexpr uint64_t kProgramAlignment = WEFT_COMMAND_BYTES;
/// HBM that a record can name; no chip has more (a unit test of the presets).
inline constexpr uint64_t kProgramHbmBytes = uint64_t{WEFT_CORE_DMA_GRANULE_BYTES} << 32;

/// Which programs a function has loaded. All zero: none. The records of the first slots lie in State, those of the
/// others at the start of the function's HBM, which belongs to the firmware: a launch of one takes a read more.
struct ProgramSlots {
  uint32_t loaded[2];  ///< a bit a slot
  uint32_t unloads;    ///< the generation of ids, so that an old one does not reach a new program

  constexpr bool has(uint32_t slot) const { return ((loaded[slot / 32] >> slot % 32) & 1) != 0; }
};
static_assert(WEFT_LIMIT_PROGRAMS == 8 * sizeof(ProgramSlots::loaded));

/// Checks a header against the image's size and this chip, without overflow for any input. EXECUTABLE_INVALID {byte
/// offset in the image, value found}.
Status check_program_header(const weft_program_header& header, uint64_t image_bytes, uint64_t fingerprint);

/// Checks kernel `index` of a program with `commands` commands. EXECUTABLE_INVALID as above.
Status check_program_kernel(const weft_program_kernel& kernel, uint32_t index, uint32_t commands);

/// Of a kernel with a control list: that its place lies in an image of `image_bytes`. EXECUTABLE_INVALID as above.
[[gnu::noinline]] Status check_control_place(const weft_program_kernel& kernel, uint32_t index, uint64_t image_bytes);

/// Reads and checks the image at `address` of the function's HBM, and gives it an id (never 0).
/// INVALID_ARGUMENT {offset in the submission entry, value}, EXECUTABLE_INVALID, NO_DEVICE_MEMORY (no slot), DMA_FAULT.
Status load_program(State& state, Function& function, uint64_t address, uint64_t bytes, uint32_t* id);

/// INVALID_ARGUMENT: no such program. BUSY: a launch runs it.
Status unload_program(State& state, Function& function, uint64_t id);

/// The record of the function's program with this id: in State, or read into `room`. nullptr and `status` with
/// INVALID_ARGUMENT: none has it; with DMA_FAULT: its record could not be read.
const Program* find_program(const State& state, const Function& function, uint64_t id, Program& room, Status& status);

/// Bytes of the image before its kernel `index`.
constexpr uint64_t kernel_offset(uint32_t index) {
  return sizeof(weft_program_header) + uint64_t{index} * sizeof(weft_program_kernel);
}

}  // namespace weft::fw
