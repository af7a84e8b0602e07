// The schedule of a matrix product.
//
//   dma_in   | W0 x0 | W1 x1 | ...  loads in the order in which the MXU needs them, as far ahead as slots allow
//   mxu          | MATMUL 0 | MATMUL 1 | ...
//   vpu                      | EPILOGUE 0 |      as soon as a block's sums are complete; the other ACC bank fills
//   meanwhile dma_out                               | store 0 |
//
// Loads and MATMULs are planned first as lists, then emitted: what a load must wait for is known only when it is known
// which MATMULs used its slot before.
#include "host/compiler/gemm_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "host/compiler/layout.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kFirstGroupTiles = 2;  // K tiles of a load in the first block: its runs of x are then two words

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// A load of dma_in and the MATMUL that needs it first.
struct Load {
  spec::DmaCommand command;
  uint64_t needed_by = 0;  ///< index of the MATMUL
  uint64_t after = 0;      ///< number of MATMULs that must have retired before
};

struct Product {
  spec::MxuCommand command;
  uint64_t loads = 0;  ///< loads that it is the first to need
  bool last_of_block = false;
};

class GemmScheduler {
 public:
  GemmScheduler(ProgramBuilder& program, const DenseStep& step, const GemmTiling& plan, const StepChain& chain)
      : program_(program), step_(step), plan_(plan), chain_(chain), chip_(program.chip()) {}

  uint64_t run() {
    plan_blocks();
    emit_loads();
    emit_products();
    emit_results();
    program_.note_vmem_words(plan_.words_used);
    program_.note_macs(step_.m * step_.k * step_.n);
    return blocks_;
  }

 private:
  uint64_t element() const { return step_.dtype == WEFT_MXU_DTYPE_INT8 ? 1 : 2; }
  uint64_t output_element() const { return step_.y_dtype == WEFT_VPU_DTYPE_BF16 ? 2 : 4; }
  uint64_t columns(uint64_t block) const { return std::min<uint64_t>(chip_.n, step_.n - block * chip_.n); }
  uint16_t tag(const char* what, uint64_t row, uint64_t column) {
    return program_.tag(
        fmt::format("{} {} rows {}.. columns {}..", step_.name, what, plan_.row_chunks[row].first, column * chip_.n));
  }

  /// The K groups of a block: whole K chunks, but small groups in the very first block, each with loads of its own.
  std::vector<Span> groups(uint64_t block) const {
    if (block != 0) return plan_.k_chunks;
    std::vector<Span> result;
    for (const auto& chunk : plan_.k_chunks)
      for (uint64_t t = 0; t < chunk.count; t += kFirstGroupTiles)
        result.push_back({chunk.first + t, std::min(kFirstGroupTiles, chunk.count - t)});
    return result;
  }

  void plan_blocks() {
    for (uint64_t row = 0; row < plan_.row_chunks.size(); row++)
      for (uint64_t column = 0; column < plan_.column_blocks; column++) plan_block(row, column);
  }

  void plan_block(uint64_t row, uint64_t column) {
    const auto group_list = groups(blocks_);
    for (uint64_t g = 0; g < group_list.size(); g++) {
      const Span group = group_list[g];
      const uint64_t chunk = chunk_of(group.first);
      const uint64_t index = products_.size();
      products_.push_back({});
      if (g == 0) first_product_.push_back(index);
      const uint64_t weight_word = need_weights(row, column, chunk, group, index);
      const uint64_t x_word = need_x(row, chunk, group, index);
      if (g + 1 == group_list.size()) need_bias(row, column, index);
      auto& product = products_[index];
      auto& command = product.command;
      command.header.opcode = WEFT_OPCODE_MATMUL;
      command.header.tag = tag("matmul", row, column);
      command.x_addr = static_cast<uint32_t>(x_word);
      command.x_row_stride = static_cast<uint32_t>(plan_.x_row_stride);
      command.x_tile_stride = 1;
      command.w_addr = static_cast<uint32_t>(weight_word);
      command.w_tile_stride = chip_.n;
      command.k = static_cast<uint32_t>(std::min(group.count * plan_.tile_k, step_.k - group.first * plan_.tile_k));
      command.m = static_cast<uint16_t>(plan_.row_chunks[row].count);
      command.cols = static_cast<uint16_t>(columns(column));
      command.acc_row = static_cast<uint16_t>(blocks_ % 2 * chip_.acc_bank_rows);
      command.seed = g == 0 ? WEFT_MXU_SEED_ZERO : WEFT_MXU_SEED_KEEP;
      command.dtype = static_cast<uint8_t>(step_.dtype);
      product.last_of_block = g + 1 == group_list.size();
    }
    blocks_++;
  }

  uint64_t chunk_of(uint64_t tile) const { return tile / plan_.k_chunks.front().count; }

  /// A region of VMEM that loads of one kind go through, slot by slot.
  struct Slots {
    std::map<std::pair<uint64_t, uint64_t>, uint64_t>
        held;                                          ///< (a, b) of a chunk -> its number, for chunks that are in VMEM
    std::vector<std::pair<uint64_t, uint64_t>> owner;  ///< of each number
    std::vector<uint64_t> last_user;                   ///< of each number: MATMULs up to this index may use it
  };

  /// The number of chunk `key`; a new one takes the slot of the oldest, and `after` gets what must have retired before
  /// it is loaded.
  uint64_t acquire(Slots& slots, std::pair<uint64_t, uint64_t> key, uint64_t slot_count, uint64_t product, bool& fresh,
                   uint64_t& after) {
    const auto found = slots.held.find(key);
    fresh = found == slots.held.end();
    if (!fresh) {
      slots.last_user[found->second] = product;
      after = slot_release(slots, found->second, slot_count);
      return found->second;
    }
    const uint64_t number = slots.owner.size();
    after = slot_release(slots, number, slot_count);
    if (number >= slot_count) slots.held.erase(slots.owner[number - slot_count]);
    slots.held[key] = number;
    slots.owner.push_back(key);
    slots.last_user.push_back(product);
    return number;
  }

  static uint64_t slot_release(const Slots& slots, uint64_t number, uint64_t slot_count) {
    return number >= slot_count ? slots.last_user[number - slot_count] + 1 : 0;
  }

  uint64_t need_weights(uint64_t row, uint64_t column, uint64_t chunk, Span group, uint64_t product) {
    bool fresh = false;
    uint64_t after = 0;
    const uint64_t number = acquire(weights_, {column, chunk}, plan_.weight_slots, product, fresh, after);
    const uint64_t base = plan_.weight_base + number % plan_.weight_slots * plan_.weight_slot_words;
    const Span whole = plan_.k_chunks[chunk];
    const uint64_t word = base + (group.first - whole.first) * chip_.n;
    if (fresh || blocks_ == 0) {
      spec::DmaCommand load;
      load.header.opcode = WEFT_OPCODE_COPY;
      load.header.tag = tag("weights", row, column);
      load.src_seg = step_.weights.segment;
      load.src_off = step_.weights.offset_bytes + (column * plan_.tiles + group.first) * chip_.n * chip_.word_bytes;
      load.dst_off = word * chip_.word_bytes;
      load.size0 = static_cast<uint32_t>(group.count * chip_.n * chip_.word_bytes);
      add_load(load, product, after);
    }
    return word;
  }

  uint64_t need_x(uint64_t row, uint64_t chunk, Span group, uint64_t product) {
    bool fresh = false;
    uint64_t after = 0;
    const uint64_t number = acquire(x_, {row, chunk}, plan_.x_slots, product, fresh, after);
    const uint64_t word =
        plan_.x_base + number % plan_.x_slots * plan_.x_slot_words + (group.first - plan_.k_chunks[chunk].first);
    if (fresh || blocks_ == 0) {
      const Span rows = plan_.row_chunks[row];
      const uint64_t first_k = group.first * plan_.tile_k;
      const uint64_t count_k = std::min(group.count * plan_.tile_k, step_.k - first_k);
      spec::DmaCommand load;
      load.header.opcode = WEFT_OPCODE_COPY;
      load.header.tag = tag("x", row, 0);
      load.src_seg = step_.x.segment;
      load.src_off = step_.x.offset_bytes + rows.first * step_.x.pitch_bytes + first_k * element();
      load.dst_off = word * chip_.word_bytes;
      load.size0 = static_cast<uint32_t>(round_up(count_k * element(), 16));
      load.size1 = static_cast<uint16_t>(rows.count);
      load.src_stride1 = static_cast<int32_t>(step_.x.pitch_bytes);
      load.dst_stride1 = static_cast<int32_t>(plan_.x_row_stride * chip_.word_bytes);
      add_load(load, product, after);
    }
    return word;
  }

  /// Bias rows must be there before the EPILOGUE, so the block's last MATMUL waits for them.
  void need_bias(uint64_t row, uint64_t column, uint64_t product) {
    if (!step_.bias || (plan_.bias_resident && blocks_ != 0)) return;
    const uint64_t row_bytes = 4ull * chip_.n;
    spec::DmaCommand load;
    load.header.opcode = WEFT_OPCODE_COPY;
    load.header.tag = tag("bias", row, column);
    load.src_seg = step_.bias->segment;
    load.src_off = step_.bias->offset_bytes + (plan_.bias_resident ? 0 : column * row_bytes);
    load.dst_off = bias_word(blocks_, column) * chip_.word_bytes;
    load.size0 = static_cast<uint32_t>(plan_.bias_resident ? plan_.column_blocks * row_bytes : row_bytes);
    // The slot's last reader is the EPILOGUE of 8 blocks ago; a MATMUL of 6 blocks ago has waited for that one's ACC
    // bank.
    const uint64_t after =
        blocks_ >= plan_.bias_slots && !plan_.bias_resident ? first_product_[blocks_ - plan_.bias_slots + 2] + 1 : 0;
    add_load(load, product, after);
  }

  uint64_t bias_word(uint64_t block, uint64_t column) const {
    return plan_.bias_base + 2 * (plan_.bias_resident ? column : block % plan_.bias_slots);
  }

  void add_load(const spec::DmaCommand& command, uint64_t product, uint64_t after) {
    // A semaphore of the ring is used again only after the MATMUL that took it before has retired.
    const uint64_t ring = product >= kOperandRing ? product - kOperandRing + 1 : 0;
    loads_.push_back({command, product, std::max(after, ring)});
    program_.note_hbm_bytes(static_cast<uint64_t>(command.size0) * command.size1);
  }

  void emit_loads() {
    uint64_t taken = 0;
    for (uint64_t i = 0; i < loads_.size(); i++) {
      auto& load = loads_[i];
      auto& header = load.command.header;
      if (i == 0) ProgramBuilder::wait(header, kStepDone, chain_.stores_before);
      if (load.after > taken) {
        ProgramBuilder::wait(header, kConsumed, load.after - taken);
        taken = load.after;
      }
      ProgramBuilder::post(header, kOperandsReady + load.needed_by % kOperandRing, 1);
      products_[load.needed_by].loads++;
      program_.push(WEFT_QUEUE_DMA_IN, spec::encode(load.command));
    }
    consumed_posts_ = taken;
  }

  void emit_products() {
    uint64_t block = 0;
    for (uint64_t i = 0; i < products_.size(); i++) {
      auto& product = products_[i];
      auto& header = product.command.header;
      ProgramBuilder::wait(header, kOperandsReady + i % kOperandRing, product.loads);
      if (first_product_[block] == i && block >= 2) ProgramBuilder::wait(header, kAccFree, 1);
      if (i < consumed_posts_) ProgramBuilder::post(header, kConsumed, 1);
      if (product.last_of_block) {
        ProgramBuilder::post(header, kAccFull, 1);
        block++;
      }
      program_.push(WEFT_QUEUE_MXU, spec::encode(product.command));
    }
  }

  void emit_results() {
    uint64_t block = 0;
    for (uint64_t row = 0; row < plan_.row_chunks.size(); row++) {
      for (uint64_t column = 0; column < plan_.column_blocks; column++, block++) {
        const Span rows = plan_.row_chunks[row];
        const uint64_t slot = block % plan_.output_slots;
        const uint64_t word = plan_.output_base + slot * plan_.output_slot_words;
        spec::VpuCommand epilogue;
        epilogue.header.opcode = WEFT_OPCODE_EPILOGUE;
        epilogue.header.tag = tag("epilogue", row, column);
        epilogue.src_space = WEFT_VPU_SPACE_ACC;
        epilogue.src_dtype = step_.dtype == WEFT_MXU_DTYPE_INT8 ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_F32;
        epilogue.dst_dtype = static_cast<uint8_t>(step_.y_dtype);
        epilogue.rows = static_cast<uint16_t>(rows.count);
        epilogue.cols = static_cast<uint16_t>(columns(column));
        epilogue.a_addr = static_cast<uint32_t>(block % 2 * chip_.acc_bank_rows);
        epilogue.a_stride = 1;
        epilogue.d_addr = static_cast<uint32_t>(word);
        epilogue.d_stride = static_cast<uint32_t>(plan_.output_row_words);
        epilogue.b_mode = step_.bias ? WEFT_VPU_B_MODE_ROW : WEFT_VPU_B_MODE_NONE;
        epilogue.b_addr = step_.bias ? static_cast<uint32_t>(bias_word(block, column)) : 0;
        epilogue.activation = static_cast<uint8_t>(step_.activation);
        ProgramBuilder::wait(epilogue.header, kAccFull, 1);
        ProgramBuilder::wait(epilogue.header, kOutputFree + static_cast<unsigned>(slot),
                             block >= plan_.output_slots ? 1 : 0);
        ProgramBuilder::post(epilogue.header, kAccFree, block + 2 < blocks_ ? 1 : 0);
        ProgramBuilder::post(epilogue.header, kOutputReady, 1);
        program_.push(WEFT_QUEUE_VPU, spec::encode(epilogue));

        spec::DmaCommand store;
        store.header.opcode = WEFT_OPCODE_COPY;
        store.header.tag = tag("store", row, column);
        store.src_off = word * chip_.word_bytes;
        store.dst_seg = step_.y.segment;
        store.dst_off = step_.y.offset_bytes + rows.first * step_.y.pitch_bytes + column * chip_.n * output_element();
        store.size0 = static_cast<uint32_t>(round_up(columns(column) * output_element(), 16));
        store.size1 = static_cast<uint16_t>(rows.count);
        store.src_stride1 = static_cast<int32_t>(plan_.output_row_words * chip_.word_bytes);
        store.dst_stride1 = static_cast<int32_t>(step_.y.pitch_bytes);
        ProgramBuilder::wait(store.header, kOutputReady, 1);
        ProgramBuilder::post(store.header, kOutputFree + static_cast<unsigned>(slot),
                             block + plan_.output_slots < blocks_ ? 1 : 0);
        ProgramBuilder::post(store.header, kStepDone, chain_.announce ? 1 : 0);
        program_.note_hbm_bytes(static_cast<uint64_t>(store.size0) * store.size1);
        program_.push(WEFT_QUEUE_DMA_OUT, spec::encode(store));
      }
    }
  }

  ProgramBuilder& program_;
  const DenseStep& step_;
  const GemmTiling& plan_;
  const StepChain& chain_;
  const spec::Chip& chip_;
  std::vector<Load> loads_;
  std::vector<Product> products_;
  std::vector<uint64_t> first_product_;  ///< of each block
  Slots weights_, x_;
  uint64_t blocks_ = 0;
  uint64_t consumed_posts_ = 0;
};

}  // namespace

Result<uint64_t> schedule_gemm(ProgramBuilder& program, const DenseStep& step, const StepChain& chain) {
  auto plan = plan_gemm(program.chip(), step);
  if (!plan.ok()) return plan.error();
  const uint64_t stores = plan.value().row_chunks.size() * plan.value().column_blocks;
  if (chain.announce && stores > 65535)
    return Error{WEFT_ERROR_UNSUPPORTED,
                 fmt::format("{}: {} stores, and a step that others follow may have 65535", step.name, stores)};
  return GemmScheduler(program, step, plan.value(), chain).run();
}

}  // namespace weft::compiler
