/// How long a command keeps its unit busy: the closed forms of rtl/mxu, rtl/vpu and rtl/dma (README.md).
#pragma once
#include <algorithm>
#include <cstdint>

#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::compiler::command_graph {

inline constexpr uint64_t kVpuLatencyCycles = 6;
inline constexpr uint64_t kIndexCycles = 8;   ///< check, and first row of an indexed command
inline constexpr uint64_t kMinDmaCycles = 4;  ///< a channel checks a command for so long

/// Core cycles in which HBM moves so many bytes.
[[nodiscard]] inline uint64_t hbm_cycles(const spec::Chip& chip, uint64_t bytes) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * chip.clock_hz / chip.hbm_bytes_per_second);
}

[[nodiscard]] inline uint64_t bytes_of(const spec::DmaCommand& dma) {
  return uint64_t{dma.size0} * dma.size1 * dma.size2 * dma.size3;
}

[[nodiscard]] inline uint64_t bytes_of(const spec::IndexedCommand& c) { return uint64_t{c.row_bytes} * c.count; }

/// Cycles from the command's start to the next one's, if nothing is waited for.
[[nodiscard]] inline uint64_t unit_cycles(const spec::Chip& chip, const spec::DmaCommand& dma) {
  const uint64_t beat = uint64_t{chip.dma_words} * chip.word_bytes;
  const uint64_t beats = uint64_t{dma.size1} * dma.size2 * dma.size3 * ((dma.size0 + beat - 1) / beat);
  return std::max({beats, hbm_cycles(chip, bytes_of(dma)), kMinDmaCycles});
}
[[nodiscard]] inline uint64_t unit_cycles(const spec::Chip& chip, const spec::IndexedCommand& c) {
  const uint64_t beat = uint64_t{chip.dma_words} * chip.word_bytes;
  return std::max(c.count * ((c.row_bytes + beat - 1) / beat), hbm_cycles(chip, bytes_of(c))) + kIndexCycles;
}
[[nodiscard]] inline uint64_t unit_cycles(const spec::Chip& chip, const spec::MxuCommand& mxu) {
  const uint64_t tile = mxu.dtype == WEFT_MXU_DTYPE_INT8 ? 2ull * chip.n : chip.n;
  return (mxu.k + tile - 1) / tile * std::max<uint64_t>(mxu.m, uint64_t{chip.pe_latency} * chip.n);
}
[[nodiscard]] inline uint64_t unit_cycles(const spec::Chip& chip, const spec::VpuCommand& vpu) {
  const bool across = vpu.header.opcode == WEFT_OPCODE_REDUCE && vpu.axis == WEFT_VPU_AXIS_ROWS;
  const bool transpose = vpu.header.opcode == WEFT_OPCODE_TRANSPOSE;
  const auto groups = [&](uint64_t rows) { return (rows + chip.vpu_sublanes - 1) / chip.vpu_sublanes; };
  return groups(vpu.rows) * (across ? vpu.window : 1) + (transpose ? groups(vpu.cols) : 0) + kVpuLatencyCycles;
}

/// The same beside MXUs at work, which take some of the banks that a group of rows lies in. On v5e a command of one
/// operand of 32 bits takes 3.4 times as long beside four that never wait; for the order, where they do, two and a half
/// times gave the fewest cycles.
[[nodiscard]] inline uint64_t vpu_cycles_beside(const spec::Chip& chip, const spec::VpuCommand& vpu,
                                                uint64_t busy_mxus) {
  const uint64_t cycles = unit_cycles(chip, vpu);
  if (chip.num_mxu == 1 || chip.vpu_sublanes == 1 || vpu.src_space != WEFT_VPU_SPACE_VMEM ||
      vpu.header.opcode == WEFT_OPCODE_TRANSPOSE)
    return cycles;
  return cycles + cycles * busy_mxus * (vpu.src_dtype == WEFT_VPU_DTYPE_BF16 ? 9 : 30) / 80;
}

}  // namespace weft::compiler::command_graph
