// Clocks the Verilated Ibex between its memories and the bus.
#include "model/ibex/ibex.hpp"

#include <verilated.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "Vweft_ibex_model.h"

namespace weft::ibex {
namespace {

using rv32::Cause;
using rv32::Stop;

constexpr unsigned kResetCycles = 4;
constexpr uint32_t kEcall = 0x0000'0073, kEbreak = 0x0010'0073, kCompressedEbreak = 0x9002;

class Ibex final : public rv32::Processor {
 public:
  Ibex(const rv32::Layout& layout, std::span<const std::byte> image, rv32::Bus& bus)
      : Ibex(layout, bus, rv32::padded_rom(image)) {}
  ~Ibex() override { model_.final(); }

  [[nodiscard]] rv32::Engine engine() const override { return rv32::Engine::kIbex; }
  void reset() override;
  Stop run(uint64_t limit) override;
  void set_external_interrupt(bool level) override { interrupt_ = level; }

 private:
  Ibex(const rv32::Layout& layout, rv32::Bus& bus, std::vector<std::byte> rom)
      : Processor(layout, rom, bus), memory_(std::move(rom)) {  // its bytes stay where they are
    context_.randReset(0);
    reset();
  }
  /// What the ports ask for in this cycle, and the memories answer in the next one.
  struct Answer {
    bool valid = false, error = false;
    uint32_t word = 0;
  };
  Answer fetch() const;
  Answer access();
  void edge(const Answer& fetched, const Answer& answered);
  /// The instruction that has just left the pipeline. True: the processor has locked up.
  bool retire();
  [[nodiscard]] Cause cause() const;

  const std::vector<std::byte> memory_;  // of the ROM
  VerilatedContext context_;
  Vweft_ibex_model model_{&context_};
  bool interrupt_ = false;
  bool trapped_ = false;        // the last instruction has
  bool access_failed_ = false;  // of the instruction in the pipeline
  uint32_t failed_address_ = 0;
  bool failed_store_ = false;
};

void Ibex::reset() {
  std::fill(std::begin(x_), std::end(x_), 0u);
  pc_ = layout_.rom_base + kResetOffset;
  interrupt_ = trapped_ = access_failed_ = false;
  model_.boot_address_i = layout_.rom_base;
  for (unsigned i = 0; i <= kResetCycles; i++) {
    model_.rst_ni = i == kResetCycles;  // one edge more: until then Ibex counts as asleep
    model_.clk_i = 0;
    model_.eval();
    edge({}, {});
  }
}

Ibex::Answer Ibex::fetch() const {
  if (model_.fetch_o == 0) return {};
  Answer answer{.valid = true};
  const uint32_t offset = model_.fetch_address_o - layout_.rom_base;
  answer.error = !within(offset, rom_.size(), sizeof answer.word);
  if (!answer.error) std::memcpy(&answer.word, &rom_[offset], sizeof answer.word);
  return answer;
}

Ibex::Answer Ibex::access() {
  if (model_.access_o == 0) return {};
  Answer answer{.valid = true};
  const bool store = model_.store_o != 0;
  const uint32_t address = model_.address_o, enables = model_.bytes_o, word = model_.store_word_o;
  const auto first = static_cast<unsigned>(std::countr_zero(enables));
  const auto bytes = static_cast<unsigned>(std::popcount(enables));
  const uint32_t in_sram = address - layout_.sram_base, in_rom = address - layout_.rom_base;
  if (within(in_sram, sram_.size(), sizeof word)) {
    if (store) {
      for (unsigned i = 0; i < sizeof word; i++)
        if ((enables >> i & 1) != 0) sram_[in_sram + i] = static_cast<std::byte>(word >> 8 * i);
    } else {
      std::memcpy(&answer.word, &sram_[in_sram], sizeof word);
    }
  } else if (within(in_rom, rom_.size(), sizeof word)) {
    answer.error = store;
    if (!store) std::memcpy(&answer.word, &rom_[in_rom], sizeof word);
  } else if (!std::has_single_bit(bytes) || first % bytes != 0) {
    answer.error = true;  // part of an access that is not aligned
  } else if (store) {
    answer.error = !bus_.store(address + first, bytes, bytes == 4 ? word : word >> 8 * first & ((1u << 8 * bytes) - 1));
  } else {
    answer.error = !bus_.load(address + first, bytes, answer.word);
    answer.word <<= 8 * first;
  }
  if (answer.error && !access_failed_) {
    access_failed_ = true;
    failed_address_ = address + first;
    failed_store_ = store;
  }
  return answer;
}

void Ibex::edge(const Answer& fetched, const Answer& answered) {
  model_.clk_i = 1;
  model_.eval();
  model_.fetched_i = fetched.valid;
  model_.fetched_word_i = fetched.word;
  model_.fetch_error_i = fetched.error;
  model_.answered_i = answered.valid;
  model_.load_word_i = answered.word;
  model_.access_error_i = answered.error;
  model_.interrupt_i = interrupt_;
}

Cause Ibex::cause() const {
  if (access_failed_) return failed_store_ ? Cause::kStoreFault : Cause::kLoadFault;
  if (!within(model_.pc_o - layout_.rom_base, rom_.size(), 2)) return Cause::kFetchFault;
  if (model_.instruction_o == kEcall) return Cause::kEcall;
  if (model_.instruction_o == kEbreak || model_.instruction_o == kCompressedEbreak) return Cause::kBreakpoint;
  return Cause::kIllegal;
}

bool Ibex::retire() {
  if (model_.trapped_o != 0) {
    const Cause why = cause();
    pc_ = model_.pc_o;
    if (trapped_ && why == Cause::kFetchFault) return true;  // that of the trap vector
    const uint32_t value = access_failed_              ? failed_address_
                           : why == Cause::kFetchFault ? pc_
                           : why == Cause::kIllegal    ? model_.instruction_o
                                                       : 0;
    trapped_ = true;
    access_failed_ = false;
    traps_++;
    bus_.exception(why, value);
    return false;
  }
  trapped_ = access_failed_ = false;
  if (model_.register_o != 0) x_[model_.register_o] = model_.value_o;
  pc_ = model_.next_pc_o;
  instructions_++;
  return false;
}

Stop Ibex::run(uint64_t limit) {
  model_.interrupt_i = interrupt_;
  while (cycles_ < limit) {
    model_.clk_i = 0;
    model_.eval();
    if (model_.sleep_o != 0) return Stop::kWaiting;
    cycles_++;
    const Answer fetched = fetch();
    const Answer answered = access();  // simulated time may pass, or a reset of the device may leave from here
    edge(fetched, answered);
    if (model_.retired_o != 0 && retire()) return Stop::kLockedUp;
  }
  return Stop::kLimit;
}

}  // namespace

bool is_built() { return true; }

std::unique_ptr<rv32::Processor> make(const rv32::Layout& layout, std::span<const std::byte> image, rv32::Bus& bus) {
  return std::make_unique<Ibex>(layout, image, bus);
}

}  // namespace weft::ibex
