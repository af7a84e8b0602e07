// The schedule of a matrix product.
//
//   dma_in   | W0 x0 | W1 x1 | ...  loads in the order in which the MXU needs them, as far ahead as slots allow
//   mxu          | MATMUL 0 | MATMUL 1 | ...
//   vpu                      | EPILOGUE 0 |      as soon as a block's sums are complete; the other ACC bank fills
//   meanwhile dma_out                               | store 0 |
//
// With several MXUs, output block b is computed by MXU b mod U in its own ACC. Blocks are planned in waves of U, K
// group by K group: the MATMULs of a wave start one after the other and run side by side on the same rows of x. They
// retire in the order of the queue, so all counts below are as with one MXU.
//
// Loads and MATMULs are planned first as lists, then emitted: what a load must wait for is known only when it is known
// which MATMULs used its slot before.
#include "host/compiler/schedules/gemm_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/round_up.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/schedules/result_stores.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kFirstGroupTiles = 2;  // K tiles of a load in the first block: its runs of x are then two words

/// A load of dma_in and the MATMUL that needs it first.
struct Load {
  spec::DmaCommand command;
  uint64_t needed_by = 0;  ///< index of the MATMUL
  uint64_t after = 0;      ///< number of MATMULs that must have retired before
};

struct Product {
  spec::MxuCommand command;
  uint64_t block = 0;
  uint64_t loads = 0;  ///< loads that it is the first to need
  bool first_of_block = false, last_of_block = false;
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
    return announced_;
  }

 private:
  uint64_t element() const { return step_.dtype == WEFT_MXU_DTYPE_INT8 ? 1 : 2; }
  uint64_t output_element() const { return step_.y_dtype == WEFT_VPU_DTYPE_BF16 ? 2 : 4; }
  uint64_t columns(uint64_t block) const { return std::min<uint64_t>(chip_.n, step_.n - block * chip_.n); }
  uint16_t tag(const char* what, uint64_t row, uint64_t column) {
    return program_.tag(
        fmt::format("{} {} rows {}.. columns {}..", step_.name, what, plan_.row_chunks[row].first, column * chip_.n));
  }

  uint64_t blocks() const { return plan_.row_chunks.size() * plan_.column_blocks; }
  uint64_t row_of(uint64_t block) const { return block / plan_.column_blocks; }
  uint64_t column_of(uint64_t block) const { return block % plan_.column_blocks; }
  /// Blocks whose sums the ACCs hold at once. Those of an MXU take turns of both banks, and of the places in a bank.
  uint64_t blocks_in_acc() const { return 2 * plan_.acc_blocks * chip_.num_mxu; }
  uint64_t acc_row(uint64_t block) const {
    const uint64_t turn = block / chip_.num_mxu % (2 * plan_.acc_blocks);
    return turn % 2 * chip_.acc_bank_rows + turn / 2 * (chip_.acc_bank_rows / plan_.acc_blocks);
  }

  /// The K groups of a wave: whole K chunks, but small groups in the very first wave, each with loads of its own.
  std::vector<Span> groups(bool first_wave) const {
    if (!first_wave) return plan_.k_chunks;
    std::vector<Span> result;
    for (const auto& chunk : plan_.k_chunks)
      for (uint64_t t = 0; t < chunk.count; t += kFirstGroupTiles)
        result.push_back({chunk.first + t, std::min(kFirstGroupTiles, chunk.count - t)});
    return result;
  }

  void plan_blocks() {
    first_product_.resize(blocks());
    for (uint64_t first = 0; first < blocks(); first += chip_.num_mxu) {
      const auto group_list = groups(first == 0);
      const uint64_t end = std::min<uint64_t>(first + chip_.num_mxu, blocks());
      for (uint64_t g = 0; g < group_list.size(); g++)
        for (uint64_t block = first; block < end; block++)
          plan_product(block, group_list[g], g == 0, g + 1 == group_list.size());
    }
  }

  void plan_product(uint64_t block, Span group, bool first_of_block, bool last_of_block) {
    const uint64_t row = row_of(block), column = column_of(block), index = products_.size();
    const uint64_t chunk = chunk_of(group.first);
    products_.push_back({});
    if (first_of_block) first_product_[block] = index;
    const uint64_t weight_word = need_weights(block, chunk, group, index);
    const uint64_t x_word = need_x(block, chunk, group, index);
    if (last_of_block) need_bias(block, index);
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
    command.acc_row = static_cast<uint16_t>(acc_row(block));
    command.seed = first_of_block ? WEFT_MXU_SEED_ZERO : WEFT_MXU_SEED_KEEP;
    command.dtype = static_cast<uint8_t>(step_.dtype);
    command.mxu = static_cast<uint8_t>(block % chip_.num_mxu);
    product.block = block;
    product.first_of_block = first_of_block;
    product.last_of_block = last_of_block;
  }

  uint64_t chunk_of(uint64_t tile) const { return tile / plan_.k_chunks.front().count; }

  /// A region of VMEM that loads of one kind go through, slot by slot.
  struct Slots {
    struct Chunk {
      std::pair<uint64_t, uint64_t> key;
      uint64_t last_user;  ///< MATMULs up to this index may use it
      Span loaded;         ///< K tiles that are loaded
    };
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> held;  ///< (a, b) of a chunk in VMEM -> its number
    std::vector<Chunk> chunks;                               ///< by number
  };
  struct SlotUse {
    uint64_t number;  ///< of the chunk
    bool load;        ///< the group is not there yet
    uint64_t after;   ///< number of MATMULs that must have retired before it is loaded
  };

  /// The K tiles `group` of chunk `key`: where they are, or else behind those of the chunk that are there, or else in
  /// the slot of the oldest chunk.
  SlotUse acquire(Slots& slots, std::pair<uint64_t, uint64_t> key, uint64_t slot_count, Span group, uint64_t product) {
    if (const auto found = slots.held.find(key); found != slots.held.end()) {
      const uint64_t number = found->second;
      auto& chunk = slots.chunks[number];
      const uint64_t end = chunk.loaded.first + chunk.loaded.count;
      const bool there = group.first >= chunk.loaded.first && group.first + group.count <= end;
      if (there || group.first == end) {
        if (!there) chunk.loaded.count += group.count;
        chunk.last_user = product;
        return {number, !there, slot_release(slots, number, slot_count)};
      }
    }
    const uint64_t number = slots.chunks.size();
    const uint64_t after = slot_release(slots, number, slot_count);
    if (number >= slot_count) {
      const auto oldest = slots.held.find(slots.chunks[number - slot_count].key);
      if (oldest != slots.held.end() && oldest->second == number - slot_count) slots.held.erase(oldest);
    }
    slots.held[key] = number;
    slots.chunks.push_back({key, product, group});
    return {number, true, after};
  }

  static uint64_t slot_release(const Slots& slots, uint64_t number, uint64_t slot_count) {
    return number >= slot_count ? slots.chunks[number - slot_count].last_user + 1 : 0;
  }

  uint64_t need_weights(uint64_t block, uint64_t chunk, Span group, uint64_t product) {
    const uint64_t row = row_of(block), column = column_of(block);
    const SlotUse use = acquire(weights_, {column, chunk}, plan_.weight_slots, group, product);
    const uint64_t base = plan_.weight_base + use.number % plan_.weight_slots * plan_.weight_slot_words;
    const Span whole = plan_.k_chunks[chunk];
    const uint64_t word = base + (group.first - whole.first) * chip_.n;
    if (use.load) {
      spec::DmaCommand load;
      load.header.opcode = WEFT_OPCODE_COPY;
      load.header.tag = tag("weights", row, column);
      load.src_seg = step_.weights.segment;
      load.src_off = step_.weights.offset_bytes + (column * plan_.tiles + group.first) * chip_.n * chip_.word_bytes;
      load.dst_off = word * chip_.word_bytes;
      load.size0 = static_cast<uint32_t>(group.count * chip_.n * chip_.word_bytes);
      add_load(load, product, use.after);
    }
    return word;
  }

  uint64_t need_x(uint64_t block, uint64_t chunk, Span group, uint64_t product) {
    const uint64_t row = row_of(block);
    const SlotUse use = acquire(x_, {row, chunk}, plan_.x_slots, group, product);
    const uint64_t word =
        plan_.x_base + use.number % plan_.x_slots * plan_.x_slot_words + (group.first - plan_.k_chunks[chunk].first);
    if (use.load) {
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
      add_load(load, product, use.after);
    }
    return word;
  }

  /// Bias rows must be there before the EPILOGUE, so the block's last MATMUL waits for them.
  void need_bias(uint64_t block, uint64_t product) {
    if (!step_.bias || (plan_.bias_resident && block != 0)) return;
    const uint64_t row = row_of(block), column = column_of(block);
    const uint64_t row_bytes = 4ull * chip_.n;
    spec::DmaCommand load;
    load.header.opcode = WEFT_OPCODE_COPY;
    load.header.tag = tag("bias", row, column);
    load.src_seg = step_.bias->segment;
    load.src_off = step_.bias->offset_bytes + (plan_.bias_resident ? 0 : column * row_bytes);
    load.dst_off = bias_word(block, column) * chip_.word_bytes;
    load.size0 = static_cast<uint32_t>(plan_.bias_resident ? plan_.column_blocks * row_bytes : row_bytes);
    // The slot's last reader is an EPILOGUE; the first MATMUL of the block that takes over its ACC bank has waited for
    // it.
    const uint64_t after = block >= plan_.bias_slots && !plan_.bias_resident
                               ? first_product_[block - plan_.bias_slots + blocks_in_acc()] + 1
                               : 0;
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
    for (uint64_t i = 0; i < products_.size(); i++) {
      auto& product = products_[i];
      auto& header = product.command.header;
      ProgramBuilder::wait(header, kOperandsReady + i % kOperandRing, product.loads);
      if (product.first_of_block && product.block >= blocks_in_acc()) ProgramBuilder::wait(header, kAccFree, 1);
      if (i < consumed_posts_) ProgramBuilder::post(header, kConsumed, 1);
      if (product.last_of_block) ProgramBuilder::post(header, kAccFull, 1);
      program_.push(WEFT_QUEUE_MXU, spec::encode(product.command));
    }
  }

  void emit_results() {
    uint64_t done = 0;  // groups of blocks
    const uint64_t groups =
        plan_.row_chunks.size() * ((plan_.column_blocks + plan_.store_blocks - 1) / plan_.store_blocks);
    for (uint64_t row = 0; row < plan_.row_chunks.size(); row++) {
      for (uint64_t column = 0; column < plan_.column_blocks; column += plan_.store_blocks) {
        const uint64_t group = done++, slot = group % plan_.output_slots;
        const uint64_t end = std::min(column + plan_.store_blocks, plan_.column_blocks);
        const uint64_t word = plan_.output_base + slot * plan_.output_slot_words;
        auto store =
            result_store(chip_, tag("store", row, column), step_.y,
                         {.rows = plan_.row_chunks[row],
                          .columns = {column * chip_.n, (end - 1) * chip_.n + columns(end - 1) - column * chip_.n},
                          .element_bytes = output_element(),
                          .word = word,
                          .row_words = plan_.store_blocks * plan_.output_row_words});
        for (uint64_t c = column; c < end; c++) {
          const uint64_t block = row * plan_.column_blocks + c;
          auto epilogue = epilogue_of(row, c, block, word + (c - column) * plan_.output_row_words);
          ProgramBuilder::wait(epilogue.header, kAccFull, 1);
          if (c == column)
            ProgramBuilder::wait(epilogue.header, kOutputFree + static_cast<unsigned>(slot),
                                 group >= plan_.output_slots ? 1 : 0);
          ProgramBuilder::post(epilogue.header, kAccFree, block + blocks_in_acc() < blocks() ? 1 : 0);
          if (c + 1 == end) ProgramBuilder::post(epilogue.header, kOutputReady, 1);
          program_.push(WEFT_QUEUE_VPU, spec::encode(epilogue));
        }
        ProgramBuilder::wait(store.header, kOutputReady, 1);
        if (post_store(store.header, slot, group + plan_.output_slots < groups, chain_.announce)) announced_++;
        push_store(program_, store);
      }
    }
  }

  spec::VpuCommand epilogue_of(uint64_t row, uint64_t column, uint64_t block, uint64_t word) {
    spec::VpuCommand epilogue;
    epilogue.header.opcode = WEFT_OPCODE_EPILOGUE;
    epilogue.header.tag = tag("epilogue", row, column);
    epilogue.src_space = WEFT_VPU_SPACE_ACC;
    epilogue.src_dtype = step_.dtype == WEFT_MXU_DTYPE_INT8 ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_F32;
    epilogue.dst_dtype = static_cast<uint8_t>(step_.y_dtype);
    epilogue.rows = static_cast<uint16_t>(plan_.row_chunks[row].count);
    epilogue.cols = static_cast<uint16_t>(columns(column));
    epilogue.a_addr = static_cast<uint32_t>(block % chip_.num_mxu * 2 * chip_.acc_bank_rows + acc_row(block));
    epilogue.a_stride = 1;
    epilogue.d_addr = static_cast<uint32_t>(word);
    epilogue.d_stride = static_cast<uint32_t>(plan_.store_blocks * plan_.output_row_words);
    epilogue.b_mode = step_.bias ? WEFT_VPU_B_MODE_ROW : WEFT_VPU_B_MODE_NONE;
    epilogue.b_addr = step_.bias ? static_cast<uint32_t>(bias_word(block, column)) : 0;
    epilogue.activation = static_cast<uint8_t>(step_.activation);
    return epilogue;
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
  uint64_t consumed_posts_ = 0, announced_ = 0;
};

}  // namespace

Result<uint64_t> schedule_gemm(ProgramBuilder& program, const DenseStep& step, const StepChain& chain) {
  auto plan = plan_gemm(program.chip(), step);
  if (!plan.ok()) return plan.error();
  return GemmScheduler(program, step, plan.value(), chain).run();
}

}  // namespace weft::compiler
