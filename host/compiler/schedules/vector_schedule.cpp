// The schedule of an elementwise step. A slot of VMEM holds a chunk of rows of a and b, and of the result; it is free
// for the next load when its store has read it.
#include "host/compiler/schedules/vector_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/round_up.hpp"
#include "host/compiler/schedules/chunk_pipeline.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kMaxChunkRows = 512;
constexpr uint64_t kSlots = kOutputSlots;

class VectorScheduler {
 public:
  VectorScheduler(ProgramBuilder& program, const VectorStep& step)
      : program_(program),
        step_(step),
        chip_(program.chip()),
        blocks_((step.cols + chip_.n - 1) / chip_.n),
        words_(blocks_ * row_words(step.dtype)),
        cast_(step.y_dtype != step.dtype),
        tensor_b_(step.b_mode == WEFT_VPU_B_MODE_TENSOR),
        row_b_words_(step.b_mode == WEFT_VPU_B_MODE_ROW ? round_up(words_, 2) : 0) {}

  /// False: one row does not fit.
  bool plan() {
    const uint64_t y_words = cast_ ? blocks_ * row_words(step_.y_dtype) : 0;
    const uint64_t row = words_ * (1 + (tensor_b_ ? 1 : 0)) + y_words;
    if (row_b_words_ + kSlots * (row + 6) > chip_.vmem_words) return false;
    chunk_rows_ = std::min({kMaxChunkRows, step_.rows, (chip_.vmem_words - row_b_words_) / kSlots / (row + 1)});
    chunk_rows_ = std::max<uint64_t>(chunk_rows_, 1);
    b_offset_ = round_up(chunk_rows_ * words_, 2);
    const uint64_t operands = b_offset_ + (tensor_b_ ? round_up(chunk_rows_ * words_, 2) : 0);
    y_offset_ = cast_ ? operands : 0;
    slot_words_ = operands + round_up(chunk_rows_ * y_words, 2);
    chunks_ = (step_.rows + chunk_rows_ - 1) / chunk_rows_;
    return row_b_words_ + kSlots * slot_words_ <= chip_.vmem_words;
  }

  uint64_t run(const StepChain& chain) {
    ChunkPipeline pipeline(program_, chain, chunks_);
    for (uint64_t chunk = 0; chunk < chunks_; chunk++) {
      const uint64_t rows = std::min(chunk_rows_, step_.rows - chunk * chunk_rows_);
      const uint64_t base = row_b_words_ + chunk % kSlots * slot_words_;
      auto loads = loads_of(chunk, rows, base);
      auto vector = vector_of(chunk, rows, base);
      pipeline.add({std::move(loads), std::move(vector), {store_of(chunk, rows, base)}});
    }
    program_.note_vmem_words(row_b_words_ + kSlots * slot_words_);
    return pipeline.stores();
  }

 private:
  uint16_t tag(const char* what, uint64_t chunk) {
    return program_.tag(fmt::format("{} {} rows {}..", step_.name, what, chunk * chunk_rows_));
  }

  std::vector<spec::DmaCommand> loads_of(uint64_t chunk, uint64_t rows, uint64_t base) {
    const uint64_t first = chunk * chunk_rows_, bytes = step_.cols * vpu_element_bytes(step_.dtype);
    std::vector<spec::DmaCommand> loads{chunk_load(chip_, tag("a", chunk), step_.a, first, rows, bytes, base, words_)};
    if (tensor_b_)
      loads.push_back(chunk_load(chip_, tag("b", chunk), step_.b, first, rows, bytes, base + b_offset_, words_));
    else if (step_.b_mode == WEFT_VPU_B_MODE_ROW && chunk == 0)
      loads.push_back(chunk_load(chip_, tag("b", chunk), step_.b, 0, 1, bytes, 0, words_));
    return loads;
  }

  /// For each block of N columns the operation, and the cast if y has the other type.
  std::vector<spec::VpuCommand> vector_of(uint64_t chunk, uint64_t rows, uint64_t base) {
    std::vector<spec::VpuCommand> commands;
    for (uint64_t block = 0; block < blocks_; block++) {
      spec::VpuCommand command;
      command.header.opcode = WEFT_OPCODE_ELEMENTWISE;
      command.header.tag = tag("elementwise", chunk);
      command.op = static_cast<uint8_t>(step_.op);
      command.src_dtype = command.dst_dtype = static_cast<uint8_t>(step_.dtype);
      command.rows = static_cast<uint16_t>(rows);
      command.cols = static_cast<uint16_t>(std::min<uint64_t>(chip_.n, step_.cols - block * chip_.n));
      command.a_addr = command.d_addr = static_cast<uint32_t>(base + block * row_words(step_.dtype));
      command.a_stride = command.d_stride = static_cast<uint32_t>(words_);
      command.b_mode = static_cast<uint8_t>(step_.b_mode);
      command.scalar2 = step_.scalar2;
      if (tensor_b_) {
        command.b_addr = command.a_addr + static_cast<uint32_t>(b_offset_);
        command.b_stride = static_cast<uint32_t>(words_);
      } else if (step_.b_mode == WEFT_VPU_B_MODE_ROW) {
        command.b_addr = static_cast<uint32_t>(block * row_words(step_.dtype));
      } else {
        command.scalar = step_.scalar;
      }
      commands.push_back(command);
      if (cast_) commands.push_back(cast_of(command, base + y_offset_ + block * row_words(step_.y_dtype)));
    }
    return commands;
  }

  /// What `operation` has left where it lies, in y's type.
  spec::VpuCommand cast_of(const spec::VpuCommand& operation, uint64_t word) {
    spec::VpuCommand command;
    command.header.opcode = WEFT_OPCODE_CAST;
    command.header.tag = operation.header.tag;
    command.src_dtype = operation.dst_dtype;
    command.dst_dtype = static_cast<uint8_t>(step_.y_dtype);
    command.rows = operation.rows, command.cols = operation.cols;
    command.a_addr = operation.d_addr, command.a_stride = operation.d_stride;
    command.d_addr = static_cast<uint32_t>(word);
    command.d_stride = static_cast<uint32_t>(blocks_ * row_words(step_.y_dtype));
    return command;
  }

  spec::DmaCommand store_of(uint64_t chunk, uint64_t rows, uint64_t base) {
    return chunk_store(chip_, tag("store", chunk), step_.y, chunk * chunk_rows_, rows,
                       step_.cols * vpu_element_bytes(step_.y_dtype), base + y_offset_,
                       blocks_ * row_words(step_.y_dtype));
  }

  ProgramBuilder& program_;
  const VectorStep& step_;
  const spec::Chip& chip_;
  const uint64_t blocks_;  ///< of N columns
  const uint64_t words_;   ///< VMEM words of a row of a
  const bool cast_;
  const bool tensor_b_;
  const uint64_t row_b_words_;
  uint64_t chunk_rows_ = 1, chunks_ = 0, b_offset_ = 0, y_offset_ = 0, slot_words_ = 0;
};

}  // namespace

Result<uint64_t> schedule_vector(ProgramBuilder& program, const VectorStep& step, const StepChain& chain) {
  VectorScheduler scheduler(program, step);
  if (!scheduler.plan())
    return Error{WEFT_ERROR_NO_DEVICE_MEMORY,
                 fmt::format("{}: a row of {} elements does not fit VMEM of {} bytes on chip {}", step.name, step.cols,
                             program.chip().vmem_bytes, program.chip().name)};
  return scheduler.run(chain);
}

}  // namespace weft::compiler
