/// The argument list of a launch: its checks and the segments that it becomes.
#pragma once
#include <stdint.h>

#include "firmware/core/program.hpp"
#include "firmware/status.hpp"

namespace weft::fw {

struct Function;

inline constexpr uint32_t kConstantsSegment = 1;
inline constexpr uint32_t kScratchSegment = 2;
inline constexpr uint32_t kArgumentSegment = 3;

/// Entries of the list: the kernel's arguments, then its scratch memory if it needs any.
constexpr uint32_t list_entries(const weft_program_kernel& kernel) {
  return kernel.argument_count + (kernel.scratch_bytes != 0 ? 1u : 0u);
}
constexpr uint32_t list_bytes(uint32_t entries) {
  return static_cast<uint32_t>(sizeof(weft_launch_list) + entries * sizeof(weft_launch_argument));
}

/// Reads the function's list at `iova` into `list` (room for list_entries(), 8-byte aligned) and checks it.
/// INVALID_ARGUMENT {byte offset in the list, value found}; BAD_DESCRIPTOR {the same}: its CRC does not fit; DMA_FAULT
/// {iova, bytes}.
Status read_arguments(const Function& function, uint64_t iova, const weft_program_kernel& kernel, uint8_t* list);

/// Writes the segment table for a checked list. Returns a bit for each segment mapped.
uint32_t map_arguments(Function& function, const Program& program, const weft_program_kernel& kernel,
                       const uint8_t* list);

}  // namespace weft::fw
