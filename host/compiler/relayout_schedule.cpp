// The schedule of a change of layout. A chunk is a range of rows of a, all columns: N rows if they are transposed,
// which then are one column block of y; as many as fit otherwise.
//
//   VMEM slot   | a: rows x blocks of N columns | y: rows x blocks, or columns x one block |
#include "host/compiler/relayout_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/round_up.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kMaxChunkRows = 512;
constexpr uint64_t kMaxRuns = 65535;  // of a store: a transposed chunk has a run for each column

class RelayoutScheduler {
 public:
  RelayoutScheduler(ProgramBuilder& program, const RelayoutStep& step)
      : program_(program),
        step_(step),
        chip_(program.chip()),
        blocks_((step.cols + chip_.n - 1) / chip_.n),
        a_words_(blocks_ * row_words(step.a_dtype)) {}

  /// False: the smallest chunk does not fit.
  bool plan() {
    const uint64_t room = chip_.vmem_words / kOutputSlots;
    if (step_.transpose)
      chunk_rows_ = std::min<uint64_t>(chip_.n, step_.rows);
    else
      chunk_rows_ = std::min({kMaxChunkRows, step_.rows, (room - std::min<uint64_t>(room, 2)) / (a_words_ + blocks_)});
    if (chunk_rows_ == 0) return false;
    y_offset_ = round_up(chunk_rows_ * a_words_, 2);
    slot_words_ = round_up(y_offset_ + (step_.transpose ? blocks_ * chip_.n : chunk_rows_ * blocks_), 2);
    chunks_ = (step_.rows + chunk_rows_ - 1) / chunk_rows_;
    return slot_words_ <= room && (!step_.transpose || step_.cols <= kMaxRuns);
  }

  uint64_t run(const StepChain& chain) {
    ChunkPipeline pipeline(program_, chain, chunks_);
    for (uint64_t index = 0; index < chunks_; index++) {
      const uint64_t first = index * chunk_rows_, rows = std::min(chunk_rows_, step_.rows - first);
      const uint64_t base = index % kOutputSlots * slot_words_;
      Chunk chunk;
      chunk.loads = {chunk_load(chip_, tag("load", first), step_.a, first, rows,
                                step_.cols * vpu_element_bytes(step_.a_dtype), base, a_words_)};
      for (uint64_t block = 0; block < blocks_; block++)
        step_.transpose ? transpose(chunk, base, block, first, rows) : convert(chunk, base, block, first, rows);
      if (step_.transpose)
        store_block(chunk, base + y_offset_, 1, 0, step_.cols, first / chip_.n, rows);
      else
        for (uint64_t block = 0; block < blocks_; block++)
          store_block(chunk, base + y_offset_ + block, blocks_, first, rows, block, columns(block));
      pipeline.add(std::move(chunk));
    }
    program_.note_vmem_words(kOutputSlots * slot_words_);
    return pipeline.stores();
  }

 private:
  uint16_t tag(const char* what, uint64_t row) {
    return program_.tag(fmt::format("{} {} rows {}..", step_.name, what, row));
  }
  uint64_t columns(uint64_t block) const { return std::min<uint64_t>(chip_.n, step_.cols - block * chip_.n); }

  spec::VpuCommand vector(weft_opcode opcode, uint64_t first, uint64_t rows, uint64_t block) {
    spec::VpuCommand command;
    command.header.opcode = static_cast<uint8_t>(opcode);
    command.header.tag = tag("relayout", first);
    command.rows = static_cast<uint16_t>(rows);
    command.cols = static_cast<uint16_t>(columns(block));
    return command;
  }

  /// One block of a, cast (or its bf16 values as they are: what lies beyond the columns becomes zero), to `word`.
  void to_bf16(Chunk& chunk, uint64_t base, uint64_t block, uint64_t first, uint64_t rows, uint64_t word,
               uint64_t stride) {
    const bool cast = step_.a_dtype != WEFT_VPU_DTYPE_BF16;
    auto command = vector(cast ? WEFT_OPCODE_CAST : WEFT_OPCODE_ELEMENTWISE, first, rows, block);
    command.src_dtype = static_cast<uint8_t>(step_.a_dtype);
    command.dst_dtype = WEFT_VPU_DTYPE_BF16;
    command.a_addr = static_cast<uint32_t>(base + block * row_words(step_.a_dtype));
    command.a_stride = static_cast<uint32_t>(a_words_);
    command.d_addr = static_cast<uint32_t>(word);
    command.d_stride = static_cast<uint32_t>(stride);
    chunk.vector.push_back(command);
  }

  void convert(Chunk& chunk, uint64_t base, uint64_t block, uint64_t first, uint64_t rows) {
    to_bf16(chunk, base, block, first, rows, base + y_offset_ + block, blocks_);
  }

  /// rows x columns become columns x rows; the cast's result lies where the transposed block then comes to lie.
  void transpose(Chunk& chunk, uint64_t base, uint64_t block, uint64_t first, uint64_t rows) {
    const uint64_t word = base + y_offset_ + block * chip_.n;
    auto command = vector(WEFT_OPCODE_TRANSPOSE, first, rows, block);
    command.src_dtype = command.dst_dtype = WEFT_VPU_DTYPE_BF16;
    command.a_addr = static_cast<uint32_t>(base + block);
    command.a_stride = static_cast<uint32_t>(a_words_);
    if (step_.a_dtype != WEFT_VPU_DTYPE_BF16) {
      to_bf16(chunk, base, block, first, rows, word, 1);
      command.a_addr = static_cast<uint32_t>(word);
      command.a_stride = 1;
    }
    command.d_addr = static_cast<uint32_t>(word);
    command.d_stride = 1;
    chunk.vector.push_back(command);
  }

  /// `rows` rows of one column block of y.
  void store_block(Chunk& chunk, uint64_t word, uint64_t stride, uint64_t first, uint64_t rows, uint64_t block,
                   uint64_t lanes) {
    TensorPlace place = step_.y;
    uint64_t bytes = lanes * 2;
    if (step_.y_layout == WEFT_ARGUMENT_LAYOUT_WEIGHT_TILES) {
      const uint64_t y_rows = step_.transpose ? step_.cols : step_.rows;
      place.offset_bytes += block * round_up(y_rows, chip_.n) * chip_.word_bytes;
      place.pitch_bytes = bytes = chip_.word_bytes;
    } else {
      place.offset_bytes += block * chip_.word_bytes;
    }
    chunk.stores.push_back(chunk_store(chip_, tag("store", first), place, first, rows, bytes, word, stride));
  }

  ProgramBuilder& program_;
  const RelayoutStep& step_;
  const spec::Chip& chip_;
  const uint64_t blocks_;   ///< of N columns of a
  const uint64_t a_words_;  ///< VMEM words of a row of a
  uint64_t chunk_rows_ = 0, chunks_ = 0, y_offset_ = 0, slot_words_ = 0;
};

}  // namespace

Result<uint64_t> schedule_relayout(ProgramBuilder& program, const RelayoutStep& step, const StepChain& chain) {
  RelayoutScheduler scheduler(program, step);
  if (!scheduler.plan())
    return Error{WEFT_ERROR_NO_DEVICE_MEMORY,
                 fmt::format("{}: rows of {} elements do not fit VMEM of {} bytes on chip {}", step.name, step.cols,
                             program.chip().vmem_bytes, program.chip().name)};
  return scheduler.run(chain);
}

}  // namespace weft::compiler
