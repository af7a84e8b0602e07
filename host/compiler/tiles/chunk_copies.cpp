// Runs are whole beats of 16 bytes.
#include "host/compiler/tiles/chunk_copies.hpp"

namespace weft::compiler {
namespace {

uint32_t run_bytes(uint64_t bytes) { return static_cast<uint32_t>((bytes + 15) / 16 * 16); }

}  // namespace

spec::DmaCommand chunk_load(const spec::Chip& chip, uint16_t tag, const TensorPlace& from, uint64_t first_row,
                            uint64_t rows, uint64_t bytes, uint64_t word, uint64_t stride_words) {
  spec::DmaCommand command;
  command.header.opcode = WEFT_OPCODE_COPY;
  command.header.tag = tag;
  command.src_seg = from.segment;
  command.src_off = from.offset_bytes + first_row * from.pitch_bytes;
  command.dst_off = word * chip.word_bytes;
  command.size0 = run_bytes(bytes);
  command.size1 = static_cast<uint16_t>(rows);
  command.src_stride1 = static_cast<int32_t>(from.pitch_bytes);
  command.dst_stride1 = static_cast<int32_t>(stride_words * chip.word_bytes);
  return command;
}

spec::DmaCommand chunk_store(const spec::Chip& chip, uint16_t tag, const TensorPlace& to, uint64_t first_row,
                             uint64_t rows, uint64_t bytes, uint64_t word, uint64_t stride_words) {
  spec::DmaCommand command;
  command.header.opcode = WEFT_OPCODE_COPY;
  command.header.tag = tag;
  command.src_off = word * chip.word_bytes;
  command.dst_seg = to.segment;
  command.dst_off = to.offset_bytes + first_row * to.pitch_bytes;
  command.size0 = run_bytes(bytes);
  command.size1 = static_cast<uint16_t>(rows);
  command.src_stride1 = static_cast<int32_t>(stride_words * chip.word_bytes);
  command.dst_stride1 = static_cast<int32_t>(to.pitch_bytes);
  return command;
}

}  // namespace weft::compiler
