// The schedule of an elementwise step. A slot of VMEM holds a chunk of rows of a and b, and of the result; it is free
// for the next load when its store has read it.
#include "host/compiler/vector_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::compiler {
namespace {

constexpr uint64_t kMaxChunkRows = 512;
constexpr uint64_t kSlots = kOutputSlots;

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

class VectorScheduler {
 public:
  VectorScheduler(ProgramBuilder& program, const VectorStep& step, const StepChain& chain)
      : program_(program),
        step_(step),
        chain_(chain),
        chip_(program.chip()),
        words_((step.cols + chip_.n - 1) / chip_.n),
        cast_(step.y_dtype == WEFT_VPU_DTYPE_F32),
        tensor_b_(step.b_mode == WEFT_VPU_B_MODE_TENSOR),
        row_b_words_(step.b_mode == WEFT_VPU_B_MODE_ROW ? round_up(words_, 2) : 0) {}

  /// False: one row does not fit.
  bool plan() {
    const uint64_t row_words = words_ * (1 + (tensor_b_ ? 1 : 0) + (cast_ ? 2 : 0));
    if (row_b_words_ + kSlots * (row_words + 6) > chip_.vmem_words) return false;
    chunk_rows_ = std::min({kMaxChunkRows, step_.rows, (chip_.vmem_words - row_b_words_) / kSlots / (row_words + 1)});
    chunk_rows_ = std::max<uint64_t>(chunk_rows_, 1);
    b_offset_ = round_up(chunk_rows_ * words_, 2);
    y_offset_ = cast_ ? b_offset_ + (tensor_b_ ? round_up(chunk_rows_ * words_, 2) : 0) : 0;
    slot_words_ =
        cast_ ? y_offset_ + 2 * chunk_rows_ * words_ : b_offset_ + (tensor_b_ ? round_up(chunk_rows_ * words_, 2) : 0);
    chunks_ = (step_.rows + chunk_rows_ - 1) / chunk_rows_;
    return row_b_words_ + kSlots * slot_words_ <= chip_.vmem_words;
  }

  uint64_t chunks() const { return chunks_; }
  uint64_t needed_words() const { return row_b_words_ + kSlots * slot_words_; }

  void run() {
    for (uint64_t chunk = 0; chunk < chunks_; chunk++) {
      const uint64_t rows = std::min(chunk_rows_, step_.rows - chunk * chunk_rows_);
      const uint64_t base = row_b_words_ + chunk % kSlots * slot_words_;
      const uint64_t loads = emit_loads(chunk, rows, base);
      emit_vector(chunk, rows, base, loads);
      emit_store(chunk, rows, base);
    }
    program_.note_vmem_words(needed_words());
  }

 private:
  uint16_t tag(const char* what, uint64_t chunk) {
    return program_.tag(fmt::format("{} {} rows {}..", step_.name, what, chunk * chunk_rows_));
  }

  spec::DmaCommand load(const TensorPlace& from, uint64_t chunk, uint64_t first_row, uint64_t rows, uint64_t word,
                        const char* what) {
    spec::DmaCommand command;
    command.header.opcode = WEFT_OPCODE_COPY;
    command.header.tag = tag(what, chunk);
    command.src_seg = from.segment;
    command.src_off = from.offset_bytes + first_row * from.pitch_bytes;
    command.dst_off = word * chip_.word_bytes;
    command.size0 = static_cast<uint32_t>(round_up(step_.cols * 2, 16));
    command.size1 = static_cast<uint16_t>(rows);
    command.src_stride1 = static_cast<int32_t>(from.pitch_bytes);
    command.dst_stride1 = static_cast<int32_t>(words_ * chip_.word_bytes);
    ProgramBuilder::post(command.header, kOperandsReady + static_cast<unsigned>(chunk % kOperandRing), 1);
    program_.note_hbm_bytes(static_cast<uint64_t>(command.size0) * rows);
    return command;
  }

  uint64_t emit_loads(uint64_t chunk, uint64_t rows, uint64_t base) {
    auto a = load(step_.a, chunk, chunk * chunk_rows_, rows, base, "a");
    if (chunk == 0) ProgramBuilder::wait(a.header, kStepDone, chain_.stores_before);
    if (chunk >= kSlots) ProgramBuilder::wait(a.header, kOutputFree + static_cast<unsigned>(chunk % kSlots), 1);
    program_.push(WEFT_QUEUE_DMA_IN, spec::encode(a));
    if (tensor_b_) {
      program_.push(WEFT_QUEUE_DMA_IN,
                    spec::encode(load(step_.b, chunk, chunk * chunk_rows_, rows, base + b_offset_, "b")));
      return 2;
    }
    if (step_.b_mode == WEFT_VPU_B_MODE_ROW && chunk == 0) {
      program_.push(WEFT_QUEUE_DMA_IN, spec::encode(load(step_.b, chunk, 0, 1, 0, "b")));
      return 2;
    }
    return 1;
  }

  void emit_vector(uint64_t chunk, uint64_t rows, uint64_t base, uint64_t loads) {
    const uint64_t per_word = cast_ ? 2 : 1;
    const uint64_t last = words_ * per_word - 1;
    for (uint64_t i = 0; i <= last; i++) {
      const uint64_t word = i / per_word;
      spec::VpuCommand command;
      command.header.tag = tag("elementwise", chunk);
      command.src_dtype = WEFT_VPU_DTYPE_BF16;
      command.rows = static_cast<uint16_t>(rows);
      command.cols = static_cast<uint16_t>(std::min<uint64_t>(chip_.n, step_.cols - word * chip_.n));
      command.a_addr = static_cast<uint32_t>(base + word);
      command.a_stride = static_cast<uint32_t>(words_);
      if (i % per_word == 0) {
        command.header.opcode = WEFT_OPCODE_ELEMENTWISE;
        command.op = static_cast<uint8_t>(step_.op);
        command.dst_dtype = WEFT_VPU_DTYPE_BF16;
        command.d_addr = command.a_addr;
        command.d_stride = command.a_stride;
        command.b_mode = static_cast<uint8_t>(step_.b_mode);
        if (tensor_b_) {
          command.b_addr = static_cast<uint32_t>(base + b_offset_ + word);
          command.b_stride = static_cast<uint32_t>(words_);
        } else if (step_.b_mode == WEFT_VPU_B_MODE_ROW) {
          command.b_addr = static_cast<uint32_t>(word);
        } else {
          command.scalar = step_.scalar;
        }
      } else {
        command.header.opcode = WEFT_OPCODE_CAST;
        command.dst_dtype = WEFT_VPU_DTYPE_F32;
        command.d_addr = static_cast<uint32_t>(base + y_offset_ + 2 * word);
        command.d_stride = static_cast<uint32_t>(2 * words_);
      }
      if (i == 0)
        ProgramBuilder::wait(command.header, kOperandsReady + static_cast<unsigned>(chunk % kOperandRing), loads);
      if (i == last) ProgramBuilder::post(command.header, kOutputReady, 1);
      program_.push(WEFT_QUEUE_VPU, spec::encode(command));
    }
  }

  void emit_store(uint64_t chunk, uint64_t rows, uint64_t base) {
    spec::DmaCommand store;
    store.header.opcode = WEFT_OPCODE_COPY;
    store.header.tag = tag("store", chunk);
    store.src_off = (base + y_offset_) * chip_.word_bytes;
    store.dst_seg = step_.y.segment;
    store.dst_off = step_.y.offset_bytes + chunk * chunk_rows_ * step_.y.pitch_bytes;
    store.size0 = static_cast<uint32_t>(round_up(step_.cols * (cast_ ? 4 : 2), 16));
    store.size1 = static_cast<uint16_t>(rows);
    store.src_stride1 = static_cast<int32_t>(words_ * (cast_ ? 2 : 1) * chip_.word_bytes);
    store.dst_stride1 = static_cast<int32_t>(step_.y.pitch_bytes);
    ProgramBuilder::wait(store.header, kOutputReady, 1);
    ProgramBuilder::post(store.header, kOutputFree + static_cast<unsigned>(chunk % kSlots),
                         chunk + kSlots < chunks_ ? 1 : 0);
    ProgramBuilder::post(store.header, kStepDone, chain_.announce ? 1 : 0);
    program_.note_hbm_bytes(static_cast<uint64_t>(store.size0) * rows);
    program_.push(WEFT_QUEUE_DMA_OUT, spec::encode(store));
  }

  ProgramBuilder& program_;
  const VectorStep& step_;
  const StepChain& chain_;
  const spec::Chip& chip_;
  const uint64_t words_;  ///< VMEM words of a bf16 row
  const bool cast_;
  const bool tensor_b_;
  const uint64_t row_b_words_;
  uint64_t chunk_rows_ = 1, chunks_ = 0, b_offset_ = 0, y_offset_ = 0, slot_words_ = 0;
};

}  // namespace

Result<uint64_t> schedule_vector(ProgramBuilder& program, const VectorStep& step, const StepChain& chain) {
  VectorScheduler scheduler(program, step, chain);
  if (!scheduler.plan())
    return Error{WEFT_ERROR_NO_DEVICE_MEMORY,
                 fmt::format("{}: a row of {} elements does not fit VMEM of {} bytes on chip {}", step.name, step.cols,
                             program.chip().vmem_bytes, program.chip().name)};
  if (chain.announce && scheduler.chunks() > 65535)
    return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("{}: {} stores, and a step that others follow may have 65535",
                                                     step.name, scheduler.chunks())};
  scheduler.run();
  return scheduler.chunks();
}

}  // namespace weft::compiler
