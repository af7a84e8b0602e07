/// RtlCore over one Verilated class; included only by rtl_core_<preset>.cpp.
#pragma once
#include <verilated.h>
#include <verilated_fst_c.h>

#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/core/rtl/rtl_core.hpp"
#include "model/golden/secded.hpp"
#include "model/verilated/acc_columns.hpp"
#include "model/verilated/vmem_banks.hpp"

namespace weft::core {

/// `Model` is V<target> of rtl/CMakeLists.txt. The file that instantiates it includes the header of the model's root
/// too, for the memories. A cycle is two evaluations: the inputs of the cycle settle with the clock low, then the clock
/// rises.
template <typename Model>
class VerilatedCore final : public RtlCore {
 public:
  VerilatedCore(const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options)
      : RtlCore(chip, bus, options.remote),
        options_(options),
        model_(make_model()),
        accs_(find_accs(*model_->rootp)),
        vmem_(context_, kModelName + std::string(".weft_core.u_units.u_vmem.u_storage"), chip.word_bytes) {
    acc_rows_.resize(accs_.size());
    power_up();
  }
  ~VerilatedCore() override {
    Verilated::threadContextp(&context_);  // a model's end asks the thread's context, which may be one that has ended
    if (wave_) wave_->close();
    model_->final();
  }

  /// It was built to write waves.
  static constexpr bool kWaves = requires(Model& model, VerilatedFstC* file) { model.trace(file, 99); };

  /// Opens the wave file. False: it does not open, or there are no waves.
  [[nodiscard]] bool open_wave() {
    if (options_.wave_path.empty()) return true;
    if constexpr (kWaves) {
      context_.traceEverOn(true);
      wave_ = std::make_unique<VerilatedFstC>();
      model_->trace(wave_.get(), 99);
      wave_->open(options_.wave_path.c_str());
      return wave_->isOpen();
    } else {
      return false;
    }
  }

  [[nodiscard]] uint64_t read_csr(uint32_t offset) override {
    if (offset >= WEFT_CSR_COUNTER + WEFT_CSR_COUNTER_STRIDE * 512) return 0;
    model_->csr_valid_i = 1;
    model_->csr_write_i = 0;
    model_->csr_addr_i = static_cast<uint16_t>(offset);
    model_->idle_credit_i = idle_credit_;
    model_->eval();
    model_->csr_valid_i = 0;
    return model_->csr_rdata_o;
  }
  [[nodiscard]] bool fetching(unsigned queue) const override { return (model_->fetching_o >> queue & 1) != 0; }
  [[nodiscard]] bool busy() const override {
    return model_->busy_o != 0 || !pending_.empty() || (slice_ && slice_->waiting());
  }
  [[nodiscard]] bool interrupt() const override { return model_->irq_o != 0; }

  uint64_t advance(uint64_t until) override {
    if (!run_to_interrupt(until) && cycle_ < until) {  // it is idle
      idle_credit_ += until - cycle_;
      cycle_ = until;
    }
    return cycle_;
  }
  uint64_t advance_while_busy(uint64_t until) override {
    (void)run_to_interrupt(until);
    return cycle_;
  }

  [[nodiscard]] bool peek_vmem(uint64_t byte_address, std::span<std::byte> out) const override {
    if (out.size() > chip_.vmem_bytes || byte_address > chip_.vmem_bytes - out.size()) return false;
    vmem_.for_each_piece(byte_address, out.size(), [&](size_t at, std::byte* stored, size_t bytes) {
      std::memcpy(out.data() + at, stored, bytes);
    });
    if (injected_) show_vmem(byte_address, out);
    return true;
  }
  [[nodiscard]] bool peek_acc(uint32_t row, std::span<std::byte> out) const override {
    if (row >= acc_rows() || out.size() != size_t{chip_.n} * 4) return false;
    const AccRowOf at = acc_row(row);
    for (size_t lane = 0; lane < chip_.n; lane++) {
      uint32_t value = at.data(lane);
      if (injected_) value = static_cast<uint32_t>(golden::kSecded32.decode(value, at.check(lane)).data);
      std::memcpy(out.data() + lane * sizeof value, &value, sizeof value);
    }
    return true;
  }
  [[nodiscard]] bool poke_vmem(uint64_t byte_address, std::span<const std::byte> data) override {
    if (data.size() > chip_.vmem_bytes || byte_address > chip_.vmem_bytes - data.size()) return false;
    vmem_.for_each_piece(byte_address, data.size(), [&](size_t at, std::byte* stored, size_t bytes) {
      std::memcpy(stored, data.data() + at, bytes);
    });
    for (uint64_t granule = byte_address / 8; granule * 8 < byte_address + data.size(); granule++)
      vmem_.check(granule) = golden::kSecded64.encode(vmem_.granule_value(granule));
    return true;
  }
  [[nodiscard]] bool poke_acc(uint32_t row, std::span<const std::byte> data) override {
    if (row >= acc_rows() || data.size() != size_t{chip_.n} * 4) return false;
    const AccRowOf at = acc_row(row);
    for (size_t lane = 0; lane < chip_.n; lane++) {
      std::memcpy(&at.data(lane), data.data() + lane * sizeof(uint32_t), sizeof(uint32_t));
      at.check(lane) = golden::kSecded32.encode(at.data(lane));
    }
    return true;
  }

  [[nodiscard]] bool vmem_poisoned(uint64_t byte_address) const override {
    if (!injected_) return false;
    const uint64_t granule = byte_address / 8;
    return golden::kSecded64.decode(vmem_.granule_value(granule), vmem_.check(granule)).result ==
           golden::SecdedResult::kPoison;
  }
  [[nodiscard]] bool acc_poisoned(uint32_t row, uint32_t lane) const override {
    if (!injected_) return false;
    const AccRowOf at = acc_row(row);
    return golden::kSecded32.decode(at.data(lane), at.check(lane)).result == golden::SecdedResult::kPoison;
  }

 private:
  static constexpr const char* kModelName = "weft_core";

  /// The accumulators of one MXU. What this cycle's edge does to them.
  struct Acc {
    AccColumns columns;
    const uint8_t *step, *issue;
    const uint16_t* issue_row;
  };
  struct AccRowOf {  // a row of one MXU
    const AccColumns& columns;
    uint32_t row;
    [[nodiscard]] uint32_t& data(size_t lane) const { return columns.data(row, lane); }
    [[nodiscard]] uint8_t& check(size_t lane) const { return columns.check(row, lane); }
  };

#define WEFT_ACC(root, unit, name) \
  (root).weft_core__DOT__u_units__DOT__u_mxus__DOT__gen_unit__BRA__##unit##__KET____DOT__u_mxu__DOT__u_acc__DOT__##name
#define WEFT_ADD_ACC(accs, root, unit)                                                                      \
  if constexpr (requires { WEFT_ACC(root, unit, step_seen); })                                              \
  (accs).push_back({acc_columns(unit), &WEFT_ACC(root, unit, step_seen), &WEFT_ACC(root, unit, issue_seen), \
                    &WEFT_ACC(root, unit, issue_row_seen)})
  /// One for each MXU of the preset.
  template <typename Root>
  std::vector<Acc> find_accs(Root& root) const {
    std::vector<Acc> accs;
    WEFT_ADD_ACC(accs, root, 0);
    WEFT_ADD_ACC(accs, root, 1);
    WEFT_ADD_ACC(accs, root, 2);
    WEFT_ADD_ACC(accs, root, 3);
    return accs;
  }
#undef WEFT_ADD_ACC
#undef WEFT_ACC
  [[nodiscard]] AccColumns acc_columns(unsigned unit) const {
    return {context_,
            kModelName + std::string(".weft_core.u_units.u_mxus.gen_unit[") + std::to_string(unit) +
                "].u_mxu.u_acc.u_memory",
            chip_.n, chip_.acc_bank_rows, chip_.vpu_sublanes};
  }

  [[nodiscard]] uint32_t acc_rows() const { return chip_.num_mxu * 2 * chip_.acc_bank_rows; }
  /// A row as the VPU counts them: MXU after MXU.
  [[nodiscard]] AccRowOf acc_row(uint32_t row) const {
    const uint32_t rows = 2 * chip_.acc_bank_rows;
    return {accs_[row / rows].columns, row % rows};
  }

  /// Corrects the granules that `out` shows.
  void show_vmem(uint64_t byte_address, std::span<std::byte> out) const {
    for (uint64_t granule = byte_address / 8; granule * 8 < byte_address + out.size(); granule++) {
      const uint64_t raw = vmem_.granule_value(granule);
      const uint64_t data = golden::kSecded64.decode(raw, vmem_.check(granule)).data;
      for (unsigned i = 0; i < 8 && data != raw; i++) {
        const uint64_t at = granule * 8 + i;
        if (at >= byte_address && at < byte_address + out.size())
          out[at - byte_address] = static_cast<std::byte>(data >> (8 * i));
      }
    }
  }

  std::unique_ptr<Model> make_model() {
    context_.threads(1);  // else the context starts a pool of one thread a processor, which no model uses
    context_.randReset(options_.initial_seed == 0 ? 0 : 2);
    context_.randSeed(static_cast<int>(options_.initial_seed));
    return std::make_unique<Model>(&context_, kModelName);
  }

  /// A program may read what it has not written: VMEM and ACC start at 0 in every core. After the reset: an edge before
  /// it ends may write, whatever its registers hold.
  void clear_memories() {
    vmem_.clear();
    for (const Acc& acc : accs_) acc.columns.clear();
  }

  void power_up() {
    model_->clk_i = 0;
    model_->rst_ni = 0;
    model_->place_i = place().chips << 16 | place().chip;
    model_->ici_ready_i = model_->ici_ack_valid_i = model_->ici_post_valid_i = model_->ici_end_valid_i = 0;
    for (unsigned i = 0; i < WEFT_CORE_CORE_RESET_CYCLES; i++) {
      model_->eval();
      model_->clk_i = 1;
      model_->eval();
      model_->clk_i = 0;
    }
    if (options_.initial_seed != 0 && !options_.initial_memories) clear_memories();
    model_->rst_ni = 1;
    model_->eval();
  }

  void drive_pending() {
    model_->csr_valid_i = 0;
    model_->cmd_valid_i = 0;
    if (pending_.empty()) return;
    // In order; a register write may go beside the push that follows it.
    if (!pending_.front().is_push) {
      const Pending& write = pending_.front();
      model_->csr_valid_i = 1;
      model_->csr_write_i = 1;
      model_->csr_addr_i = static_cast<uint16_t>(write.offset);
      model_->csr_wdata_i = write.value;
      csr_clocked(write);
      pending_.pop_front();
    }
    if (!pending_.empty() && pending_.front().is_push) {
      const Pending& push = pending_.front();
      model_->cmd_valid_i = 1;
      model_->cmd_queue_i = static_cast<uint8_t>(push.queue);
      std::memcpy(model_->cmd_i.data(), push.command.bytes.data(), WEFT_COMMAND_BYTES);
      command_accepted(push);
      pending_.pop_front();
    }
  }

  void drive_memory() {
    // The request was settled by the last edge; readiness looks at its space.
    model_->mrd_ready_i =
        model_->mrd_valid_o && !memory_.congested(static_cast<weft_address_space>(model_->mrd_space_o), cycle_);
    model_->mwr_ready_i =
        model_->mwr_valid_o && !memory_.congested(static_cast<weft_address_space>(model_->mwr_space_o), cycle_);
    const int channel = memory_.answer_due(cycle_);
    model_->mrsp_valid_i = channel >= 0;
    if (channel >= 0) {
      const auto& answer = memory_.answer(channel);
      model_->mrsp_channel_i = static_cast<uint8_t>(channel);
      model_->mrsp_error_i = answer.error;
      std::memcpy(model_->mrsp_data_i.data(), answer.data.data(), answer.data.size());
    }
    bool error = false;
    const int acknowledged = memory_.take_acknowledgement(cycle_, error);
    model_->mack_valid_i = acknowledged >= 0;
    if (acknowledged >= 0) {
      model_->mack_channel_i = static_cast<uint8_t>(acknowledged);
      model_->mack_error_i = error;
    }
    offered_ = channel;
  }

  void take_memory() {
    if (offered_ >= 0 && model_->mrsp_ready_o) memory_.take_answer(offered_);
    if (model_->mrd_valid_o && model_->mrd_ready_i) {
      memory_.read(model_->mrd_channel_o, static_cast<weft_address_space>(model_->mrd_space_o), model_->mrd_addr_o,
                   model_->mrd_bytes_o, cycle_);
    }
    if (model_->mwr_valid_o && model_->mwr_ready_i) {
      const auto* data = reinterpret_cast<const std::byte*>(model_->mwr_data_o.data());
      memory_.write(model_->mwr_channel_o, static_cast<weft_address_space>(model_->mwr_space_o), model_->mwr_addr_o,
                    {data, model_->mwr_bytes_o}, cycle_);
    }
  }

  void drive_slice() {
    model_->ici_ready_i = model_->ici_valid_o && !slice_->congested();
    const SliceEndpoint::Acknowledgement* ack = slice_->acknowledgement();
    model_->ici_ack_valid_i = ack != nullptr;
    if (ack != nullptr) {
      model_->ici_ack_fault_i = ack->fault.has_value();
      model_->ici_ack_channel_i = ack->channel & 1;
      model_->ici_ack_tag_i = ack->tag;
      model_->ici_ack_address_i = ack->fault ? ack->fault->address : 0;
    }
    const SliceEndpoint::Post* post = slice_->post(cycle_);
    model_->ici_post_valid_i = post != nullptr;
    if (post != nullptr) {
      model_->ici_post_sem_i = post->semaphore;
      model_->ici_post_count_i = post->count;
    }
    const SliceEndpoint::BarrierEnd* end = slice_->barrier_end();
    model_->ici_end_valid_i = end != nullptr;
    if (end != nullptr) {
      model_->ici_end_fault_i = end->fault.has_value();
      model_->ici_end_address_i = end->fault ? end->fault->address : 0;
    }
  }

  void take_fetched() {
    if (model_->fetch_push_o == 0) return;
    spec::Command command;
    std::memcpy(command.bytes.data(), model_->fetch_cmd_o.data(), WEFT_COMMAND_BYTES);
    command_fetched(static_cast<unsigned>(std::countr_zero(unsigned{model_->fetch_push_o})), command);
  }

  void take_slice() {
    if (model_->ici_ack_valid_i) slice_->take_acknowledgement();
    if (model_->ici_post_valid_i && model_->ici_post_ready_o) slice_->take_post();
    if (model_->ici_end_valid_i) slice_->take_barrier_end();
    const auto command_at = [](const auto& words) {
      spec::Command command;
      std::memcpy(command.bytes.data(), words.data(), WEFT_COMMAND_BYTES);
      return command;
    };
    if (model_->ici_open_valid_o) slice_->open(model_->ici_open_channel_o, command_at(model_->ici_open_cmd_o));
    if (model_->ici_valid_o && model_->ici_ready_i) {
      const std::span data{reinterpret_cast<const std::byte*>(model_->mwr_data_o.data()), model_->mwr_bytes_o};
      memory_.depart(model_->mwr_channel_o, model_->mwr_addr_o, data, cycle_);
      slice_->beat(model_->mwr_channel_o, model_->mwr_addr_o, data, model_->ici_last_o != 0, cycle_);
    }
    if (model_->ici_barrier_valid_o) slice_->begin_barrier(command_at(model_->ici_barrier_cmd_o), cycle_);
  }

  /// Clocks a busy core up to `until`. True: to a cycle in which the interrupt rose.
  bool run_to_interrupt(uint64_t until) {
    while (cycle_ < until && busy()) {
      const bool before = interrupt();
      clock();
      if (!before && interrupt()) return true;
    }
    return false;
  }

  void clock() {
    context_.time(cycle_);
    drive_pending();
    drive_memory();
    if (slice_) drive_slice();
    model_->idle_credit_i = idle_credit_;
    model_->clk_i = 0;
    model_->eval();
    dump(0);
    take_memory();
    if (slice_) take_slice();
    if ((model_->start_o | model_->retire_o) != 0) command_events(model_->start_o, model_->retire_o);
    take_fetched();
    if (tap_ != nullptr) look_at_writes();
    model_->clk_i = 1;
    model_->eval();
    dump(1);
    if (tap_ != nullptr) {
      if (reset_clocked_ || held_in_reset())
        for (auto& rows : acc_rows_) rows.clear();
      else
        tell_writes();
    }
    idle_credit_ = 0;
    cycle_++;
    if (reset_clocked_) core_was_reset();
  }

  /// What this cycle's edge will write: told once it has.
  struct Writes {
    unsigned vpu_rows;  // of a group, a bit each
    bool dma;
    unsigned vpu_words, dma_words;  // of a row, of a beat
    std::array<uint32_t, 8> vpu_first;
    uint64_t dma_first;
    struct {
      bool step, issue;
      uint32_t row;
    } acc[4];  // of each MXU
  };
  /// A row of a product on its way through the columns: column j is written L N + 1 + j steps after the issue.
  struct AccRow {
    uint32_t row;
    unsigned age;
    std::vector<uint32_t> data;
  };
  /// Word `index` of a signal of so many words of 32 bits as Verilator keeps it.
  static uint32_t word_of(uint64_t signal, unsigned index) { return static_cast<uint32_t>(signal >> (32 * index)); }
  template <std::size_t words>
  static uint32_t word_of(const VlWide<words>& signal, unsigned index) {
    return signal.m_storage[index];
  }
  void look_at_writes() {
    const auto& root = *model_->rootp;
    writes_ = {.vpu_rows = root.weft_core__DOT__u_units__DOT__vw_gnt,
               .dma = root.weft_core__DOT__u_units__DOT__dw_gnt != 0,
               .vpu_words = root.weft_core__DOT__u_units__DOT__vw_pair != 0 ? 2u : 1u,
               .dma_words = root.weft_core__DOT__u_units__DOT__dw_words,
               .vpu_first = {},
               .dma_first = root.weft_core__DOT__u_units__DOT__dw_addr,
               .acc = {}};
    for (unsigned row = 0; row < chip_.vpu_sublanes; row++)
      writes_.vpu_first[row] = word_of(root.weft_core__DOT__u_units__DOT__vw_addr, row);
    for (size_t u = 0; u < accs_.size(); u++)
      writes_.acc[u] = {*accs_[u].step != 0, *accs_[u].issue != 0, *accs_[u].issue_row};
  }
  void tell_writes() {
    for (unsigned rows = writes_.vpu_rows; rows != 0; rows &= rows - 1)
      tap_->vmem_written(VmemWriter::kVpu, writes_.vpu_first[static_cast<size_t>(std::countr_zero(rows))],
                         writes_.vpu_words, cycle_);
    if (writes_.dma) tap_->vmem_written(VmemWriter::kDma, writes_.dma_first, writes_.dma_words, cycle_);
    for (size_t u = 0; u < accs_.size(); u++)
      if (writes_.acc[u].step) step_acc(u);
  }
  void step_acc(size_t unit) {
    const unsigned n = chip_.n, depth = chip_.pe_latency * n;
    Ring<AccRow>& rows = acc_rows_[unit];
    for (size_t i = 0; i < rows.size(); i++) {
      AccRow& row = rows[i];
      row.age++;
      if (row.age <= depth || row.age > depth + n) continue;
      const unsigned column = row.age - depth - 1;
      row.data[column] = acc_row(row.row).data(column);
    }
    if (!rows.empty() && rows.front().age == depth + n) {
      const AccRow& row = rows.front();
      tap_->acc_written(row.row, std::as_bytes(std::span(row.data)), cycle_);
      rows.pop();
    }
    if (!writes_.acc[unit].issue) return;
    AccRow& row = rows.push();
    row.row = static_cast<uint32_t>(unit) * 2 * chip_.acc_bank_rows + writes_.acc[unit].row;
    row.age = 0;
    row.data.resize(n);
  }

  void dump(unsigned phase) {
    if (wave_ && cycle_ >= options_.wave_from_cycle && cycle_ <= options_.wave_to_cycle)
      wave_->dump(2 * cycle_ + phase);
  }

  const CoreOptions options_;
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<VerilatedFstC> wave_;
  int offered_ = -1;
  Writes writes_{};
  std::vector<Acc> accs_;  // of each MXU
  VmemBanks vmem_;
  std::vector<Ring<AccRow>> acc_rows_;  // of each MXU, oldest first
};

template <typename Model>
std::unique_ptr<RtlCore> make_verilated_core(const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options,
                                             std::string& error) {
  auto core = std::make_unique<VerilatedCore<Model>>(chip, bus, options);
  if (!core->open_wave()) {
    error = VerilatedCore<Model>::kWaves
                ? "cannot write the wave file '" + options.wave_path + "'"
                : "this core was built without waves: weft build-chip builds the preset's core with them";
    return nullptr;
  }
  return core;
}

}  // namespace weft::core
