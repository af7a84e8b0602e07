// The schedule of a sum of parts. A chunk is a row chunk of as many columns as fit; the first one of a row chunk waits
// until all of its parts are there. Bias rows stay in VMEM.
//
//   VMEM slot   | part 0, then the sum | part 1 | ... | y in bf16 |
#include "host/compiler/schedules/part_sum_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/compiler/schedules/arrivals.hpp"
#include "host/compiler/schedules/chunk_pipeline.hpp"
#include "host/compiler/schedules/result_stores.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kSumWords = 2;  // of N f32

/// Of columns, the first a multiple of N.
struct Group {
  Span columns;
  uint64_t blocks = 0;  ///< of N columns
};

class PartSumScheduler {
 public:
  PartSumScheduler(ProgramBuilder& program, const PartSumStep& step)
      : program_(program), step_(step), chip_(program.chip()), row_chunks_(cut_rows(chip_, step.rows)) {
    for (const Span& chunk : row_chunks_) rows_ = std::max(rows_, chunk.count);
  }

  /// False: not even N columns fit.
  bool plan() {
    const uint64_t all = (step_.cols + chip_.n - 1) / chip_.n;
    bias_words_ = step_.bias ? kSumWords * all : 0;
    uint64_t blocks = all;
    while (words(blocks) > chip_.vmem_words && blocks > 1) blocks = (blocks + 1) / 2;
    part_words_ = rows_ * blocks * kSumWords;
    slot_words_ = slot_words(blocks);
    for (uint64_t first = 0; first < all; first += blocks) {
      const uint64_t column = first * chip_.n, count = std::min(blocks, all - first);
      groups_.push_back({{column, std::min<uint64_t>(count * chip_.n, step_.cols - column)}, count});
    }
    return words(blocks) <= chip_.vmem_words;
  }
  [[nodiscard]] uint64_t least_words() const { return words(1); }

  uint64_t run(const StepChain& chain) {
    await_arrivals(program_, step_.name, step_.arrivals);
    ChunkPipeline pipeline(program_, chain, row_chunks_.size() * groups_.size());
    uint64_t index = 0;
    for (const Span& rows : row_chunks_) {
      for (const Group& group : groups_) {
        const uint64_t base = bias_words_ + index % kOutputSlots * slot_words_;
        tag_ = program_.tag(fmt::format("{} sum rows {}.. columns {}..", step_.name, rows.first, group.columns.first));
        auto loads = loads_of(rows, group, base);
        if (group.columns.first == 0 && !step_.arrivals.empty())
          ProgramBuilder::wait(loads.front().header, kArrived, 1);
        if (index++ == 0 && step_.bias)
          loads.push_back(chunk_load(chip_, tag_, *step_.bias, 0, 1, step_.cols * 4, 0, bias_words_));
        pipeline.add({std::move(loads), vector_of(rows, group, base), stores_of(rows, group, base)});
      }
    }
    program_.note_vmem_words(bias_words_ + kOutputSlots * slot_words_);
    return pipeline.stores();
  }

 private:
  [[nodiscard]] bool casts() const { return step_.y_dtype == WEFT_VPU_DTYPE_BF16; }
  [[nodiscard]] uint64_t y_offset() const { return casts() ? step_.parts.size() * part_words_ : 0; }
  [[nodiscard]] uint64_t slot_words(uint64_t blocks) const {
    const uint64_t y = casts() ? rows_ * blocks : 0;
    return step_.parts.size() * rows_ * blocks * kSumWords + y + y % 2;
  }
  [[nodiscard]] uint64_t words(uint64_t blocks) const { return bias_words_ + kOutputSlots * slot_words(blocks); }

  [[nodiscard]] std::vector<spec::DmaCommand> loads_of(Span rows, const Group& group, uint64_t base) const {
    std::vector<spec::DmaCommand> loads;
    for (size_t i = 0; i < step_.parts.size(); i++) {
      TensorPlace from = step_.parts[i];
      from.offset_bytes += group.columns.first * 4;
      loads.push_back(chunk_load(chip_, tag_, from, rows.first, rows.count, group.columns.count * 4,
                                 base + i * part_words_, group.blocks * kSumWords));
    }
    return loads;
  }

  /// On block `block` of a group's sums, in place.
  [[nodiscard]] spec::VpuCommand command(weft_opcode opcode, Span rows, const Group& group, uint64_t base,
                                         uint64_t block) const {
    spec::VpuCommand c;
    c.header.opcode = static_cast<uint8_t>(opcode);
    c.header.tag = tag_;
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
    c.rows = static_cast<uint16_t>(rows.count);
    c.cols = static_cast<uint16_t>(std::min<uint64_t>(chip_.n, group.columns.count - block * chip_.n));
    c.a_addr = c.d_addr = static_cast<uint32_t>(base + block * kSumWords);
    c.a_stride = c.d_stride = static_cast<uint32_t>(group.blocks * kSumWords);
    return c;
  }

  [[nodiscard]] std::vector<spec::VpuCommand> vector_of(Span rows, const Group& group, uint64_t base) const {
    std::vector<spec::VpuCommand> commands;
    for (uint64_t block = 0; block < group.blocks; block++) {
      auto add = command(WEFT_OPCODE_ELEMENTWISE, rows, group, base, block);
      add.op = WEFT_VPU_OP_ADD;
      add.b_mode = WEFT_VPU_B_MODE_TENSOR;
      add.b_stride = add.a_stride;
      for (size_t i = 1; i < step_.parts.size(); i++) {
        add.b_addr = static_cast<uint32_t>(add.a_addr + i * part_words_);
        commands.push_back(add);
      }
      if (step_.bias) {
        add.b_mode = WEFT_VPU_B_MODE_ROW;
        add.b_stride = 0;
        add.b_addr = static_cast<uint32_t>((group.columns.first / chip_.n + block) * kSumWords);
        commands.push_back(add);
      }
      if (step_.activation != WEFT_VPU_ACTIVATION_NONE || (commands.empty() && !casts())) {
        auto activate = command(WEFT_OPCODE_ELEMENTWISE, rows, group, base, block);
        activate.op = WEFT_VPU_OP_NONE;
        activate.activation = static_cast<uint8_t>(step_.activation);
        commands.push_back(activate);
      }
      if (!casts()) continue;
      auto cast = command(WEFT_OPCODE_CAST, rows, group, base, block);
      cast.dst_dtype = WEFT_VPU_DTYPE_BF16;
      cast.d_addr = static_cast<uint32_t>(base + y_offset() + block);
      cast.d_stride = static_cast<uint32_t>(group.blocks);
      commands.push_back(cast);
    }
    return commands;
  }

  [[nodiscard]] std::vector<spec::DmaCommand> stores_of(Span rows, const Group& group, uint64_t base) const {
    return result_stores(program_, tag_, step_.sinks,
                         {.rows = rows,
                          .columns = group.columns,
                          .element_bytes = vpu_element_bytes(step_.y_dtype),
                          .word = base + y_offset(),
                          .row_words = group.blocks * row_words(step_.y_dtype)});
  }

  ProgramBuilder& program_;
  const PartSumStep& step_;
  const spec::Chip& chip_;
  const std::vector<Span> row_chunks_;
  std::vector<Group> groups_;
  uint64_t rows_ = 0, bias_words_ = 0, part_words_ = 0, slot_words_ = 0;
  uint16_t tag_ = 0;
};

}  // namespace

Result<uint64_t> schedule_part_sum(ProgramBuilder& program, const PartSumStep& step, const StepChain& chain) {
  PartSumScheduler scheduler(program, step);
  if (const spec::Chip& chip = program.chip(); !scheduler.plan())
    return Error{WEFT_ERROR_NO_DEVICE_MEMORY,
                 fmt::format("{}: chunks of {} parts need {} bytes of VMEM, chip {} has {}", step.name,
                             step.parts.size(), scheduler.least_words() * chip.word_bytes, chip.name, chip.vmem_bytes)};
  return scheduler.run(chain);
}

}  // namespace weft::compiler
