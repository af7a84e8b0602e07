// How a lockstep mismatch names places and values.
#include "model/core/lockstep/mismatch_text.hpp"

#include <fmt/format.h>

#include <bit>

#include "model/golden/dma_runs.hpp"
#include "model/golden/indexed_rows.hpp"

namespace weft::core {
namespace {

const spec::OpcodeInfo* opcode_of(const spec::Command& command) { return spec::find_opcode(command.bytes[0]); }

/// The last run whose destination holds the offset: it is the one whose data stay.
std::string run_text(const spec::DmaCommand& c, int64_t offset) {
  uint64_t run = 0, found = 0;
  int64_t byte = -1;
  golden::for_each_run(c, [&](int64_t, int64_t destination) {
    if (offset >= destination && offset < destination + int64_t{c.size0}) found = run, byte = offset - destination;
    run++;
    return true;
  });
  return byte < 0 ? std::string() : fmt::format("run {} of {}, byte {}, ", found, run, byte);
}

/// The last row of VMEM that holds the offset, of an indexed command.
std::string row_text(const spec::IndexedCommand& c, int64_t offset) {
  const golden::IndexedSide rows = golden::indexed_rows(c);
  for (int64_t row = rows.rows; row-- != 0;) {
    const int64_t byte = offset - rows.offset - row * rows.stride;
    if (byte >= 0 && byte < int64_t{c.row_bytes}) return fmt::format("row {} of {}, byte {}, ", row, rows.rows, byte);
  }
  return {};
}

}  // namespace

std::string value_text(uint32_t bits, unsigned dtype) {
  switch (dtype) {
    case WEFT_VPU_DTYPE_F32:
      return fmt::format("0x{:08x} ({})", bits, std::bit_cast<float>(bits));
    case WEFT_VPU_DTYPE_BF16:
      return fmt::format("0x{:04x} ({})", bits & 0xffff, std::bit_cast<float>(bits << 16));
    default:
      return fmt::format("0x{:08x} ({})", bits, static_cast<int32_t>(bits));
  }
}

unsigned result_dtype(const spec::Command& command) {
  const spec::OpcodeInfo* opcode = opcode_of(command);
  if (opcode == nullptr) return WEFT_VPU_DTYPE_I32;
  if (opcode->body == spec::Body::kMxu)
    return spec::decode_mxu(command).dtype == WEFT_MXU_DTYPE_BF16 ? WEFT_VPU_DTYPE_F32 : WEFT_VPU_DTYPE_I32;
  if (opcode->body == spec::Body::kVpu) return spec::decode_vpu(command).dst_dtype;
  return WEFT_VPU_DTYPE_I32;
}

std::string vmem_part_text(const spec::Command& command, const spec::Chip& chip, uint64_t address) {
  const spec::OpcodeInfo* opcode = opcode_of(command);
  if (opcode == nullptr) return {};
  if (opcode->body == spec::Body::kDma) return run_text(spec::decode_dma(command), static_cast<int64_t>(address));
  if (opcode->body == spec::Body::kIndexed)
    return row_text(spec::decode_indexed(command), static_cast<int64_t>(address));
  if (opcode->body != spec::Body::kVpu) return {};
  const spec::VpuCommand vpu = spec::decode_vpu(command);
  const unsigned words = golden::words_per_row(vpu.dst_dtype);
  const uint64_t word = address / chip.word_bytes;
  for (uint64_t row = vpu.rows; row-- != 0;) {  // searched, because strides may be 0: the last row stays
    const uint64_t first = vpu.d_addr + row * vpu.d_stride;
    if (word >= first && word < first + words) return fmt::format("row {}, ", row);
  }
  return {};
}

std::string memory_part_text(const spec::Command& command, uint64_t segment_base, uint64_t address) {
  const spec::OpcodeInfo* opcode = opcode_of(command);
  if (opcode == nullptr || opcode->body != spec::Body::kDma) return {};
  return run_text(spec::decode_dma(command), static_cast<int64_t>(address - segment_base));
}

}  // namespace weft::core
