/// An instruction-set simulator of the manager's processor, with the cycles that Ibex takes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/rv32/instruction.hpp"
#include "model/rv32/processor.hpp"

namespace weft::rv32 {

/// Architectural state besides pc and x; misa, mhartid and the like are constants.
struct Csrs {
  uint32_t mstatus = 0;  ///< MIE (bit 3) and MPIE (bit 7); MPP reads as machine mode
  uint32_t mie = 0;      ///< MEIE (bit 11)
  uint32_t mtvec = 0;    ///< base; mode vectored, as Ibex has it
  uint32_t mscratch = 0;
  uint32_t mepc = 0;
  uint32_t mcause = 0;
  uint32_t mtval = 0;
};

/// A ROM and the instruction at each of its halfwords.
struct Code {
  std::vector<std::byte> rom;
  std::vector<Instruction> instructions;
};
[[nodiscard]] std::shared_ptr<const Code> decode_rom(std::span<const std::byte> image);

/// Interprets the image in a ROM; code is decoded once, and executes from the ROM only. Misaligned accesses of ROM and
/// SRAM are taken, as two accesses; those of the bus are access faults.
///
/// Timing is that of Ibex with single-cycle multiplier, without branch target ALU and write-back stage, with memories
/// that answer in the next cycle (ibex_cycles.hpp).
///
/// One thread; no allocation after construction.
class Hart final : public Processor {
 public:
  /// `code`: the image, decoded already, which harts of one image share; nullptr: it decodes.
  Hart(const Layout& layout, std::span<const std::byte> image, Bus& bus, std::shared_ptr<const Code> code = nullptr)
      : Hart(layout, bus, code != nullptr ? std::move(code) : decode_rom(image)) {}

  [[nodiscard]] Engine engine() const override { return Engine::kSimulator; }
  void reset() override;
  /// An interrupt is taken between two instructions.
  [[nodiscard]] Stop run(uint64_t limit) override;
  void set_external_interrupt(bool level) override {
    external_interrupt_ = level;
    attention_ = true;
  }

  using Processor::x;
  [[nodiscard]] std::span<uint32_t, 32> x() { return x_; }
  [[nodiscard]] const Csrs& csrs() const { return csrs_; }

 private:
  Hart(const Layout& layout, Bus& bus, std::shared_ptr<const Code> code);
  [[nodiscard]] bool load(uint32_t address, unsigned bytes, uint32_t& value);
  [[nodiscard]] bool store(uint32_t address, unsigned bytes, uint32_t value);
  /// False: the CSR does not exist or is read-only.
  [[nodiscard]] bool csr(const Instruction& instruction, uint32_t& old);
  [[nodiscard]] bool read_csr(uint32_t number, uint32_t& value) const;
  [[nodiscard]] bool write_csr(uint32_t number, uint32_t value);
  void trap(uint32_t cause, uint32_t value);
  void raise(Cause cause, uint32_t value);
  [[nodiscard]] bool interrupt_pending() const;
  /// Cycles that a jump to `target` takes beyond those of its instruction: a whole instruction that is not word-aligned
  /// is fetched in two steps.
  [[nodiscard]] unsigned fetch_cycles(uint32_t target) const;
  /// The instruction at an address of the ROM.
  [[nodiscard]] uint32_t encoding(uint32_t address) const;
  /// Executes from pc_ until the limit, a trap, or wfi (true).
  [[nodiscard]] bool execute(uint64_t limit);

  std::shared_ptr<const Code> code_;
  Csrs csrs_;
  uint64_t mcycle_ahead_ = 0, minstret_ahead_ = 0;  // of cycles_ and instructions_, by what was written to them
  bool external_interrupt_ = false;
  bool waiting_ = false;
  bool attention_ = false;  // an interrupt may have become pending or enabled: run() looks before the next instruction
};

}  // namespace weft::rv32
