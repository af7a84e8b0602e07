/// How a lockstep mismatch names places and values.
#pragma once
#include <cstdint>
#include <string>

#include "model/golden/core_state.hpp"

namespace weft::core {

/// A value in hex and decimal, as vpu_dtype `dtype`.
[[nodiscard]] std::string value_text(uint32_t bits, unsigned dtype);

/// Type of what a command writes, as a vpu_dtype; i32 for bytes that DMA moves.
[[nodiscard]] unsigned result_dtype(const spec::Command& command);

/// Bytes of an element of this type.
[[nodiscard]] constexpr unsigned element_bytes(unsigned dtype) { return dtype == WEFT_VPU_DTYPE_BF16 ? 2 : 4; }

/// Which part of the command writes this byte of VMEM: "row 3, " of a VPU result, "run 1 of 4, byte 32, " of a copy.
[[nodiscard]] std::string vmem_part_text(const spec::Command& command, const spec::Chip& chip, uint64_t address);

/// Which run of a COPY or FILL to memory writes the byte at `address` of the segment: "run 1 of 4, byte 32, ".
[[nodiscard]] std::string memory_part_text(const spec::Command& command, uint64_t segment_base, uint64_t address);

}  // namespace weft::core
