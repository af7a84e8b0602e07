// VMEM slot of a block: | a, a word a row | a in f32, two words a row | sum |
#include "host/compiler/column_sum_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::compiler {
namespace {

constexpr uint64_t kMaxRows = 65535;  // of a command

spec::VpuCommand vector(weft_opcode opcode, uint16_t tag, uint64_t rows, uint64_t cols) {
  spec::VpuCommand command;
  command.header.opcode = static_cast<uint8_t>(opcode);
  command.header.tag = tag;
  command.dst_dtype = WEFT_VPU_DTYPE_F32;
  command.rows = static_cast<uint16_t>(rows);
  command.cols = static_cast<uint16_t>(cols);
  return command;
}

}  // namespace

Result<uint64_t> schedule_column_sum(ProgramBuilder& program, const ColumnSumStep& step, const StepChain& chain) {
  const spec::Chip& chip = program.chip();
  const uint64_t wide = (step.rows + 1) / 2 * 2, sum = wide + 2 * step.rows, slot_words = sum + 2;
  if (step.rows > kMaxRows || kOutputSlots * slot_words > chip.vmem_words)
    return Error{
        WEFT_ERROR_NO_DEVICE_MEMORY,
        fmt::format("{}: sums over {} rows need {} bytes of VMEM, chip {} has {} (rows: {} at most)", step.name,
                    step.rows, kOutputSlots * slot_words * chip.word_bytes, chip.name, chip.vmem_bytes, kMaxRows)};
  const uint64_t blocks = (step.cols + chip.n - 1) / chip.n;
  ChunkPipeline pipeline(program, chain, blocks);
  for (uint64_t block = 0; block < blocks; block++) {
    const uint64_t base = block % kOutputSlots * slot_words;
    const uint64_t cols = std::min<uint64_t>(chip.n, step.cols - block * chip.n);
    const uint16_t tag = program.tag(fmt::format("{} columns {}..", step.name, block * chip.n));
    TensorPlace a = step.a, y = step.y;
    a.offset_bytes += block * chip.word_bytes;
    y.offset_bytes += block * chip.n * 4;
    auto cast = vector(WEFT_OPCODE_CAST, tag, step.rows, cols);
    cast.src_dtype = WEFT_VPU_DTYPE_BF16;
    cast.a_addr = static_cast<uint32_t>(base), cast.a_stride = 1;
    cast.d_addr = static_cast<uint32_t>(base + wide), cast.d_stride = 2;
    auto reduce = vector(WEFT_OPCODE_REDUCE, tag, 1, cols);
    reduce.op = WEFT_VPU_OP_SUM;
    reduce.src_dtype = WEFT_VPU_DTYPE_F32;
    reduce.axis = WEFT_VPU_AXIS_ROWS;
    reduce.window = static_cast<uint16_t>(step.rows);
    reduce.a_addr = static_cast<uint32_t>(base + wide), reduce.b_stride = 2;
    reduce.d_addr = static_cast<uint32_t>(base + sum);
    pipeline.add({{chunk_load(chip, tag, a, 0, step.rows, cols * 2, base, 1)},
                  {cast, reduce},
                  {chunk_store(chip, tag, y, 0, 1, cols * 4, base + sum, 2)}});
  }
  program.note_vmem_words(kOutputSlots * slot_words);
  return pipeline.stores();
}

}  // namespace weft::compiler
