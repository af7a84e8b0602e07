/// What makes a command legal: docs/command_checks.md as functions. Pure; nothing is written.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::golden {

/// A refusal: the code, and the fault's address field.
struct Fault {
  weft_fault code = WEFT_FAULT_NONE;
  uint64_t address = 0;
  bool operator==(const Fault&) const = default;
};

/// One entry of the segment table: relocation, limit and permission.
struct Segment {
  uint64_t base = 0;                                   ///< address in `space`, a multiple of 16
  uint64_t limit = 0;                                  ///< bytes
  weft_address_space space = WEFT_ADDRESS_SPACE_NONE;  ///< none: not mapped
  bool readable = false;
  bool writable = false;
  bool operator==(const Segment&) const = default;
};
/// The bit of a segment's number that says which version of its base is meant (rtl/csr/segment_table.sv). Limit and
/// permission are the same in both.
inline constexpr uint8_t kSegmentVersion1 = WEFT_SEGMENTS;
/// Entry 0 is VMEM whatever it holds; the upper half is version 1, and its first entry nothing.
using SegmentTable = std::array<Segment, 2 * WEFT_SEGMENTS>;

/// Both versions are that of the lower half, as after writes of the registers for both.
inline void copy_to_version1(SegmentTable& table) {
  std::copy(table.begin() + 1, table.begin() + kSegmentVersion1, table.begin() + kSegmentVersion1 + 1);
}

/// Where a core stands in its slice. A core alone refuses everything that concerns other chips as not built.
struct SlicePlace {
  uint32_t chip = 0;
  uint32_t chips = 1;  ///< of the slice
  [[nodiscard]] bool alone() const { return chips <= 1; }
};

/// Checks of a command that reaches the head of queue `queue` (0 to 4): opcode, reserved bits, semaphores.
[[nodiscard]] std::optional<Fault> check_header(const spec::Command& command, unsigned queue,
                                                const SlicePlace& place = {});

/// Checks of the unit that takes the command, after its waits. The header has passed.
[[nodiscard]] std::optional<Fault> check_unit(const spec::Command& command, unsigned queue, const spec::Chip& chip,
                                              const SegmentTable& segments, const SlicePlace& place = {});

/// Both, in this order.
[[nodiscard]] std::optional<Fault> check_command(const spec::Command& command, unsigned queue, const spec::Chip& chip,
                                                 const SegmentTable& segments, const SlicePlace& place = {});

/// Tiles along K of a MATMUL, and the words of weights that its last tile reads.
struct MatmulTiles {
  uint64_t k_per_tile;  ///< N, int8: 2 N
  uint64_t count;       ///< T
  uint64_t last_words;  ///< R
};
[[nodiscard]] MatmulTiles matmul_tiles(const spec::MxuCommand& command, const spec::Chip& chip);

/// ACC rows of all MXUs, as the VPU counts them: those of MXU 0, then those of MXU 1, ...
[[nodiscard]] uint32_t acc_rows(const spec::Chip& chip);
/// First row of a legal MATMUL's result among them.
[[nodiscard]] uint32_t first_acc_row(const spec::MxuCommand& command, const spec::Chip& chip);

/// VMEM words of a row of `dtype` (vpu_dtype): 2 for f32 and i32, else 1.
[[nodiscard]] constexpr unsigned words_per_row(uint8_t dtype) {
  return dtype == WEFT_VPU_DTYPE_F32 || dtype == WEFT_VPU_DTYPE_I32 ? 2 : 1;
}

/// Lanes of d that op rotate takes from a.
struct RotatedLanes {
  uint32_t first, end;
};
[[nodiscard]] constexpr RotatedLanes rotated_lanes(const spec::VpuCommand& command) {
  return {command.scalar2 & 0xffff, command.scalar2 >> 16};
}

/// scalar2 is the VMEM word of a row that all rows of the command use.
[[nodiscard]] constexpr bool keeps_row(const spec::VpuCommand& command) {
  return command.b_mode == WEFT_VPU_B_MODE_RESIDUAL || command.b_mode == WEFT_VPU_B_MODE_SCALED;
}
/// What EPILOGUE and CAST add to what they have rounded to i8.
[[nodiscard]] constexpr int32_t zero_point(const spec::VpuCommand& command) {
  return static_cast<int32_t>(command.scalar);
}
/// EPILOGUE writes bytes N to 2 N - 1 of each word of d and leaves the others.
[[nodiscard]] constexpr bool writes_upper_half(const spec::VpuCommand& command) {
  return command.header.opcode == WEFT_OPCODE_EPILOGUE && command.op == WEFT_VPU_OP_UPPER;
}

/// Rows that a legal VPU command moves.
struct VpuRows {
  uint64_t a;       ///< read; 0: none (iota)
  uint64_t window;  ///< rows of a for a row of d, REDUCE along rows; else 1
  uint64_t b;       ///< read
  uint64_t kept;    ///< read at word scalar2: 1 with b_mode residual or scaled, else 0
  uint64_t d;       ///< written
};
[[nodiscard]] VpuRows vpu_rows(const spec::VpuCommand& command, const spec::Chip& chip);

}  // namespace weft::golden
