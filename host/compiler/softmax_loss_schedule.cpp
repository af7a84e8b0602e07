// VMEM: the total loss and those of all rows, then slots. A slot holds, for up to N rows (lanes once transposed):
//
//   | scores | targets | z: a row a class | t: the same | e | gradient, bf16 | the same transposed | m s r l: a row
//   each |
//
// On two-word rows; the gradient's areas have one word a row.
#include "host/compiler/softmax_loss_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/round_up.hpp"

namespace weft::compiler {
namespace {

constexpr float kLog2E = 1.44269504F, kLn2 = 0.693147181F;
constexpr uint64_t kMaxRows = 65535;  // of a command

class SoftmaxLossScheduler {
 public:
  SoftmaxLossScheduler(ProgramBuilder& program, const SoftmaxLossStep& step)
      : program_(program),
        step_(step),
        chip_(program.chip()),
        blocks_((step.classes + chip_.n - 1) / chip_.n),
        chunks_((step.rows + chip_.n - 1) / chip_.n) {}

  /// False: a chunk does not fit.
  bool plan() {
    const uint64_t rows = std::min<uint64_t>(chip_.n, step_.rows), wide = 2 * step_.classes;
    uint64_t next = 0;
    const auto take = [&next](uint64_t words) {
      next += round_up(words, 2);
      return next - round_up(words, 2);
    };
    scores_ = take(rows * 2 * blocks_), targets_ = take(rows * 2 * blocks_);
    z_ = take(wide), t_ = take(wide), e_ = take(wide);
    narrow_ = take(step_.classes), out_ = take(rows * blocks_);
    largest_ = take(2), sum_ = take(2), inverse_ = take(2), loss_ = take(2);
    slot_words_ = next;
    return std::max(step_.classes, step_.rows) <= kMaxRows &&
           slots_base() + kOutputSlots * slot_words_ <= chip_.vmem_words;
  }
  uint64_t needed_words() const { return slots_base() + kOutputSlots * slot_words_; }

  uint64_t run(const StepChain& chain) {
    ChunkPipeline pipeline(program_, chain, chunks_);
    for (uint64_t index = 0; index < chunks_; index++) {
      base_ = slots_base() + index % kOutputSlots * slot_words_;
      first_ = index * chip_.n;
      rows_ = std::min<uint64_t>(chip_.n, step_.rows - first_);
      tag_ = program_.tag(fmt::format("{} rows {}..", step_.name, first_));
      commands_.clear();
      gradient();
      losses();
      Chunk chunk;
      chunk.loads = {load(step_.scores, scores_), load(step_.targets, targets_)};
      chunk.stores = {
          chunk_store(chip_, tag_, step_.gradient, first_, rows_, step_.classes * 2, base_ + out_, blocks_)};
      if (index + 1 == chunks_) {
        total_loss();
        chunk.stores.push_back(chunk_store(chip_, tag_, step_.loss, 0, 1, 4, 0, 2));
      }
      chunk.vector = commands_;
      pipeline.add(std::move(chunk));
    }
    program_.note_vmem_words(needed_words());
    return pipeline.stores();
  }

 private:
  /// The total lies in words 0 and 1, the rows' losses behind it.
  uint64_t slots_base() const { return 2 + 2 * step_.rows; }
  uint64_t columns(uint64_t block) const { return std::min<uint64_t>(chip_.n, step_.classes - block * chip_.n); }

  spec::DmaCommand load(const TensorPlace& from, uint64_t area) {
    return chunk_load(chip_, tag_, from, first_, rows_, step_.classes * 4, base_ + area, 2 * blocks_);
  }

  spec::VpuCommand& add(weft_opcode opcode, weft_vpu_op op, uint64_t rows, uint64_t cols, uint64_t a, uint64_t d) {
    spec::VpuCommand command;
    command.header.opcode = static_cast<uint8_t>(opcode);
    command.header.tag = tag_;
    command.op = static_cast<uint8_t>(op);
    command.src_dtype = command.dst_dtype = WEFT_VPU_DTYPE_F32;
    command.rows = static_cast<uint16_t>(rows);
    command.cols = static_cast<uint16_t>(cols);
    command.a_addr = static_cast<uint32_t>(a), command.a_stride = 2;
    command.d_addr = static_cast<uint32_t>(d), command.d_stride = 2;
    commands_.push_back(command);
    return commands_.back();
  }

  /// Rows by blocks of classes become classes by rows.
  void to_classes(uint64_t from, uint64_t to) {
    for (uint64_t block = 0; block < blocks_; block++)
      add(WEFT_OPCODE_TRANSPOSE, WEFT_VPU_OP_NONE, rows_, columns(block), base_ + from + 2 * block,
          base_ + to + 2 * chip_.n * block)
          .a_stride = static_cast<uint32_t>(2 * blocks_);
  }
  /// A row with the sum or the largest of every lane over the classes.
  void over_classes(weft_vpu_op op, uint64_t from, uint64_t to) {
    auto& command = add(WEFT_OPCODE_REDUCE, op, 1, rows_, base_ + from, base_ + to);
    command.axis = WEFT_VPU_AXIS_ROWS;
    command.a_stride = command.d_stride = 0;
    command.window = static_cast<uint16_t>(step_.classes);
    command.b_stride = 2;
  }
  void function(weft_vpu_op op, uint64_t rows, uint64_t from, uint64_t to) {
    add(WEFT_OPCODE_ELEMENTWISE, op, rows, rows_, base_ + from, base_ + to);
  }
  void scalar(uint64_t area, float value) {
    auto& command = add(WEFT_OPCODE_ELEMENTWISE, WEFT_VPU_OP_MUL, step_.classes, rows_, base_ + area, base_ + area);
    command.b_mode = WEFT_VPU_B_MODE_SCALAR;
    command.scalar = std::bit_cast<uint32_t>(value);
  }
  /// area = area op b, where b is a row for all classes, or a row for each.
  void operate(weft_vpu_op op, uint64_t rows, uint64_t area, weft_vpu_b_mode mode, uint64_t b) {
    auto& command = add(WEFT_OPCODE_ELEMENTWISE, op, rows, rows_, base_ + area, base_ + area);
    command.b_mode = static_cast<uint8_t>(mode);
    command.b_addr = static_cast<uint32_t>(base_ + b);
    command.b_stride = mode == WEFT_VPU_B_MODE_TENSOR ? 2 : 0;
  }

  void gradient() {
    to_classes(scores_, z_);
    to_classes(targets_, t_);
    over_classes(WEFT_VPU_OP_RMAX, z_, largest_);
    operate(WEFT_VPU_OP_SUB, step_.classes, z_, WEFT_VPU_B_MODE_ROW, largest_);
    scalar(z_, kLog2E);
    function(WEFT_VPU_OP_EXP2, step_.classes, z_, e_);
    over_classes(WEFT_VPU_OP_SUM, e_, sum_);
    function(WEFT_VPU_OP_RCP, 1, sum_, inverse_);
    operate(WEFT_VPU_OP_MUL, step_.classes, e_, WEFT_VPU_B_MODE_ROW, inverse_);
    operate(WEFT_VPU_OP_SUB, step_.classes, e_, WEFT_VPU_B_MODE_TENSOR, t_);
    scalar(e_, step_.scale);
    auto& cast = add(WEFT_OPCODE_CAST, WEFT_VPU_OP_NONE, step_.classes, rows_, base_ + e_, base_ + narrow_);
    cast.dst_dtype = WEFT_VPU_DTYPE_BF16;
    cast.d_stride = 1;
    for (uint64_t block = 0; block < blocks_; block++) {
      auto& back = add(WEFT_OPCODE_TRANSPOSE, WEFT_VPU_OP_NONE, columns(block), rows_,
                       base_ + narrow_ + chip_.n * block, base_ + out_ + block);
      back.src_dtype = back.dst_dtype = WEFT_VPU_DTYPE_BF16;
      back.a_stride = 1;
      back.d_stride = static_cast<uint32_t>(blocks_);
    }
  }

  /// Of each row, in bits: log2 of the sum less the target's z.
  void losses() {
    function(WEFT_VPU_OP_LOG2, 1, sum_, loss_);
    operate(WEFT_VPU_OP_MUL, step_.classes, z_, WEFT_VPU_B_MODE_TENSOR, t_);
    over_classes(WEFT_VPU_OP_SUM, z_, largest_);
    operate(WEFT_VPU_OP_SUB, 1, loss_, WEFT_VPU_B_MODE_TENSOR, largest_);
    add(WEFT_OPCODE_TRANSPOSE, WEFT_VPU_OP_NONE, 1, rows_, base_ + loss_, 2 + 2 * first_);
  }

  /// The rows' losses in ascending order, then one multiplication.
  void total_loss() {
    auto& sum = add(WEFT_OPCODE_REDUCE, WEFT_VPU_OP_SUM, 1, 1, 2, 0);
    sum.axis = WEFT_VPU_AXIS_ROWS;
    sum.window = static_cast<uint16_t>(step_.rows);
    sum.b_stride = 2;
    auto& scaled = add(WEFT_OPCODE_ELEMENTWISE, WEFT_VPU_OP_MUL, 1, 1, 0, 0);
    scaled.b_mode = WEFT_VPU_B_MODE_SCALAR;
    scaled.scalar = std::bit_cast<uint32_t>(kLn2 * step_.scale);
  }

  ProgramBuilder& program_;
  const SoftmaxLossStep& step_;
  const spec::Chip& chip_;
  const uint64_t blocks_;                                                             ///< of N classes
  const uint64_t chunks_;                                                             ///< of N rows
  uint64_t scores_ = 0, targets_ = 0, z_ = 0, t_ = 0, e_ = 0, narrow_ = 0, out_ = 0;  ///< areas of a slot
  uint64_t largest_ = 0, sum_ = 0, inverse_ = 0, loss_ = 0;
  uint64_t slot_words_ = 0;
  uint64_t base_ = 0, first_ = 0, rows_ = 0;  ///< of the chunk at hand
  uint16_t tag_ = 0;
  std::vector<spec::VpuCommand> commands_;
};

}  // namespace

Result<uint64_t> schedule_softmax_loss(ProgramBuilder& program, const SoftmaxLossStep& step, const StepChain& chain) {
  SoftmaxLossScheduler scheduler(program, step);
  if (!scheduler.plan())
    return Error{WEFT_ERROR_NO_DEVICE_MEMORY,
                 fmt::format("{}: {} rows of {} classes need {} bytes of VMEM, chip {} has {}", step.name, step.rows,
                             step.classes, scheduler.needed_words() * program.chip().word_bytes, program.chip().name,
                             program.chip().vmem_bytes)};
  return scheduler.run(chain);
}

}  // namespace weft::compiler
