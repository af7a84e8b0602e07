/// The Verilated DMA engine with VMEM, a core that issues commands, and a memory model.
#pragma once
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "model/verilated/vmem_banks.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "testbench/rtl/dma/memory_model.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

// The target names the model and its preset.
#include WEFT_MODEL_HEADER

namespace weft::bench {

consteval unsigned chip_index(std::string_view name) {
  unsigned i = 0;
  while (spec::kChips[i].name != name) i++;
  return i;
}
inline constexpr const spec::Chip& kChip = spec::kChips[chip_index(WEFT_PRESET)];
inline constexpr unsigned kWordBytes = kChip.word_bytes;
inline constexpr unsigned kBeatBytes = kChip.dma_words * kChip.word_bytes;

struct Segment {
  uint64_t base = 0;
  uint64_t limit = 0;
  unsigned space = 0;
  bool readable = false;
  bool writable = false;
};

struct Fault {
  unsigned channel = 0;
  unsigned code = 0;
  unsigned tag = 0;
  uint64_t address = 0;
  uint64_t cycle = 0;
};

/// A beat that left for another chip.
struct RemoteBeat {
  unsigned channel = 0;
  uint64_t offset = 0;
  std::vector<uint8_t> data;
  bool last = false;
};
/// A remote COPY that was announced.
struct Opened {
  unsigned channel = 0;
  spec::DmaCommand command;
  uint64_t cycle = 0;
};

/// A command's life, in cycles: the cycle in which each event is seen on the ports.
struct Life {
  unsigned channel = 0;
  unsigned tag = 0;
  uint64_t taken = 0;
  uint64_t done = 0;
};

/// The Verilated model. Making one of a preset with 128 MiB of VMEM writes all of that, so a test with many benches, one
/// after the other, makes one model: VMEM and the segment table then hold what the bench before has left.
struct DmaModel {
  std::unique_ptr<VerilatedContext> context = make_context();  // outlives the model
  std::unique_ptr<WEFT_MODEL> top = std::make_unique<WEFT_MODEL>(context.get());
  Waves<WEFT_MODEL> waves{*context, *top};
  uint64_t cycle = 0;  ///< ticks of all benches
};

/// Owns memory, and the model with others. Not thread safe. `cycle()` is the number of ticks since reset was released.
class DmaBench {
 public:
  explicit DmaBench(MemoryTiming timing, unsigned seed = 1,
                    std::shared_ptr<DmaModel> shared = std::make_shared<DmaModel>())
      : memory(timing, seed), shared_(std::move(shared)), model(shared_->top.get()), random_(seed) {
    vmem_banks_.emplace(*shared_->context, "TOP.dma_bench.u_vmem.u_storage", kWordBytes);
    reset();
  }

  void reset() {
    model->rst_ni = 0;
    model->cmd_valid_i = 0;
    model->mrsp_valid_i = model->mack_valid_i = model->mrd_ready_i = model->mwr_ready_i = model->ici_ready_i = 0;
    model->x_req_i = model->va_req_i = model->vw_req_i = 0;
    raw_tick();
    model->rst_ni = 1;
  }

  /// Reset between commands: nothing is under way, and nothing counts as held any more.
  void reset_after_fault() {
    reset();
    in_.clear(), out_.clear(), faults.clear();
    for (auto& flying : this->flying) flying.clear();
    held_ = 0;
  }

  void set_segment(unsigned index, const Segment& s) {
    model->segment_write_i = 1;
    model->segment_index_i = index;
    model->segment_base_i = s.base;
    model->segment_limit_i = s.limit;
    model->segment_attributes_i = s.writable << 3 | s.readable << 2 | s.space;
    raw_tick();
    model->segment_write_i = 0;
  }

  /// Other requesters take banks in so many percent of the cycles; writes go to the last `scratch_words` of VMEM.
  void set_interference(unsigned percent, unsigned scratch_words) {
    interference_percent_ = percent;
    scratch_words_ = scratch_words;
  }

  /// Where the core stands from now on: before this call alone.
  void set_place(unsigned chip, unsigned chips) { model->chip_i = chip, model->chips_i = chips; }
  /// The interconnect refuses a beat with this chance in a cycle.
  void set_ici_refusals(unsigned percent) { ici_refuse_percent_ = percent; }

  /// The core gives a channel at most so many commands at a time.
  void limit_held(size_t commands) { most_held_ = commands; }

  void issue_in(const spec::DmaCommand& command) { in_.push_back(spec::encode(command)); }
  void issue_out(const spec::DmaCommand& command) { out_.push_back(spec::encode(command)); }

  /// One cycle: commands, memory, interference, and what came of them.
  void tick();

  /// Runs until every command has retired or a fault was seen. False: `limit_cycles` passed first.
  [[nodiscard]] bool run(uint64_t limit_cycles) {
    for (uint64_t i = 0; i < limit_cycles; i++) {
      if (idle()) return true;
      if (!faults.empty() && i > 0) return true;
      tick();
    }
    return false;
  }
  bool idle() const { return in_.empty() && out_.empty() && held_ == 0; }
  uint64_t cycle() const { return cycle_; }

  /// One byte where the model keeps it; the next word lies elsewhere.
  uint8_t* vmem(uint64_t byte);
  void read_vmem(uint64_t byte, std::span<uint8_t> out);
  /// Gives what was written through vmem() its check bits: `bytes` from 0 on, a multiple of 8.
  void seal_vmem(uint64_t bytes);
  /// The first `bytes` of VMEM.
  std::vector<uint8_t> vmem_image(uint64_t bytes = kChip.vmem_bytes) {
    std::vector<uint8_t> image(bytes);
    read_vmem(0, image);
    return image;
  }

  MemoryModel memory;

 private:
  std::shared_ptr<DmaModel> shared_;

 public:
  WEFT_MODEL* const model;
  std::vector<Life> retired;
  std::vector<Fault> faults;
  std::deque<Life> flying[4];
  std::vector<Opened> opened;
  std::vector<RemoteBeat> remote_beats;
  uint64_t read_stalls = 0, write_stalls = 0, counted_read_bytes = 0, counted_write_bytes = 0;
  uint64_t counted_read_beats = 0, counted_write_beats = 0;
  uint64_t dw_conflicts = 0, dr_conflicts = 0;
  std::optional<uint64_t> first_mrd, first_mwr, last_answer, last_ack;  ///< cycles

 private:
  void raw_tick() {
    model->clk_i = 0;
    model->eval();
    model->clk_i = 1;
    model->eval();
  }

  std::mt19937 random_;
  std::deque<spec::Command> in_, out_;
  unsigned held_ = 0;
  size_t most_held_ = SIZE_MAX;
  unsigned ici_refuse_percent_ = 0;
  unsigned interference_percent_ = 0, scratch_words_ = 1;
  unsigned granted_ = 0;  // VMEM's grants of the cycle before
  std::optional<core::VmemBanks> vmem_banks_;
  uint64_t cycle_ = 0;
};

inline void DmaBench::tick() {
  auto& m = *model;
  memory.begin_cycle(cycle_);
  m.mrd_ready_i = memory.read_ready();
  m.mwr_ready_i = memory.write_ready();
  m.ici_ready_i = ici_refuse_percent_ == 0 || random_() % 100 >= ici_refuse_percent_;
  const auto* answer = memory.read_answer();
  m.mrsp_valid_i = answer != nullptr;
  if (answer) {
    m.mrsp_channel_i = answer->channel;
    m.mrsp_error_i = answer->error;
    std::memcpy(m.mrsp_data_i.data(), answer->data.data(), answer->data.size());
  }
  const auto* ack = memory.write_answer();
  m.mack_valid_i = ack != nullptr;
  if (ack) {
    m.mack_channel_i = ack->channel;
    m.mack_error_i = ack->error;
  }
  m.cmd_valid_i = 0;
  for (unsigned c = 0; c < 4; c++)
    if (!(c < 2 ? in_ : out_).empty() && flying[c].size() < most_held_) m.cmd_valid_i |= 1u << c;
  if (!in_.empty()) std::memcpy(m.cmd_in_i.data(), in_.front().bytes.data(), 64);
  if (!out_.empty()) std::memcpy(m.cmd_out_i.data(), out_.front().bytes.data(), 64);
  if (interference_percent_) {  // what was refused is asked again
    const auto ask = [&](unsigned port, uint8_t& req, auto& addr, unsigned word) {
      if (req && (granted_ >> port & 1) == 0) return;
      req = random_() % 100 < interference_percent_;
      addr = word;
    };
    ask(0, m.x_req_i, m.x_addr_i, random_() % kChip.vmem_words);
    ask(2, m.va_req_i, m.va_addr_i, random_() % kChip.vmem_words);
    ask(3, m.vw_req_i, m.vw_addr_i, kChip.vmem_words - 1 - random_() % scratch_words_);
  }
  m.clk_i = 0;
  m.eval();

  // what the edge will do
  const unsigned taken = m.cmd_valid_i & m.cmd_ready_o;
  for (unsigned c = 0; c < 4; c++)
    if (taken >> c & 1) {
      auto& queue = c < 2 ? in_ : out_;
      flying[c].push_back({.channel = c, .tag = spec::decode_header(queue.front()).tag, .taken = cycle_, .done = 0});
      queue.pop_front();
      held_++;
    }
  for (unsigned c = 0; c < 4; c++) {
    if (m.done_o >> c & 1) {
      Life life = flying[c].front();
      flying[c].pop_front();
      life.done = cycle_;
      retired.push_back(life);
      held_--;
    }
    if (m.fault_valid_o >> c & 1)
      faults.push_back({.channel = c,
                        .code = static_cast<unsigned>(m.fault_code_o >> (8 * c) & 0xff),
                        .tag = static_cast<unsigned>(m.fault_tag_o >> (16 * c) & 0xffff),
                        .address = m.fault_address_o[2 * c] | static_cast<uint64_t>(m.fault_address_o[2 * c + 1]) << 32,
                        .cycle = cycle_});
  }
  if (m.mrd_valid_o && !first_mrd) first_mrd = cycle_;
  if (m.mwr_valid_o && !first_mwr) first_mwr = cycle_;
  const bool answer_taken = m.mrsp_valid_i && m.mrsp_ready_o;
  if (answer_taken) last_answer = cycle_;
  if (ack) last_ack = cycle_;
  counted_read_bytes += m.read_bytes_o, counted_write_bytes += m.write_bytes_o;
  counted_read_beats += m.read_beat_o, counted_write_beats += m.write_beat_o;
  read_stalls += m.read_stall_o, write_stalls += m.write_stall_o;
  dr_conflicts += m.vmem_conflict_o >> 4 & 1, dw_conflicts += m.vmem_conflict_o >> 5 & 1;
  if (m.mrd_valid_o && m.mrd_ready_i)
    memory.accept_read(
        {.channel = m.mrd_channel_o, .space = m.mrd_space_o, .address = m.mrd_addr_o, .bytes = m.mrd_bytes_o});
  if (answer_taken) memory.take_read_answer();
  const auto* beat_data = reinterpret_cast<const uint8_t*>(m.mwr_data_o.data());
  if (m.mwr_valid_o && m.mwr_ready_i)
    memory.accept_write(
        {.channel = m.mwr_channel_o, .space = m.mwr_space_o, .address = m.mwr_addr_o, .bytes = m.mwr_bytes_o},
        beat_data);
  if (m.ici_valid_o && m.ici_ready_i) {
    remote_beats.push_back({m.mwr_channel_o, m.mwr_addr_o, {beat_data, beat_data + m.mwr_bytes_o}, m.ici_last_o != 0});
    memory.accept_remote(m.mwr_channel_o);
  }
  if (m.ici_open_valid_o) {
    spec::Command command;
    std::memcpy(command.bytes.data(), m.ici_open_cmd_o.data(), command.bytes.size());
    opened.push_back({m.ici_open_channel_o, spec::decode_dma(command), cycle_});
  }
  if (ack) memory.take_write_answer();
  granted_ = m.vmem_grant_o;
  shared_->waves.before_edge(shared_->cycle);
  m.clk_i = 1;
  m.eval();
  shared_->waves.after_edge(shared_->cycle++);
  cycle_++;
}

}  // namespace weft::bench
