/// The manager's processor: one RV32IMC hart in machine mode, with the cycles that Ibex takes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/rv32/instruction.hpp"

namespace weft::rv32 {

/// mcause of the exceptions that the hart raises.
enum class Cause : uint32_t {
  kFetchFault = 1,
  kIllegal = 2,
  kBreakpoint = 3,
  kLoadFault = 5,
  kStoreFault = 7,
  kEcall = 11,
};
inline constexpr uint32_t kExternalInterrupt = 0x8000'000b;  ///< mcause

/// "load access fault" and the like.
[[nodiscard]] const char* cause_name(Cause cause);

/// What lies beside ROM and SRAM on the hart's data port. A call may let simulated time pass, or leave by an exception:
/// the hart then stands before the instruction that made it.
class Bus {
 public:
  virtual ~Bus() = default;
  /// Loads 1, 2 or 4 bytes at a multiple of their number into the low bits of `value`. False: nothing answers there
  /// (load access fault).
  [[nodiscard]] virtual bool load(uint32_t address, unsigned bytes, uint32_t& value) = 0;
  /// Stores the low 1, 2 or 4 bytes of `value`. False: nothing answers there (store access fault).
  [[nodiscard]] virtual bool store(uint32_t address, unsigned bytes, uint32_t value) = 0;
  /// The hart is about to take an exception: pc and x are still those of the instruction that raised it. `value` is
  /// what mtval gets.
  virtual void exception(Cause, uint32_t /*value*/) {}
};

/// Why run() returned.
enum class Stop : uint8_t {
  kLimit,     ///< the cycle limit is reached
  kWaiting,   ///< the hart is in wfi, and no interrupt that mie enables is pending
  kLockedUp,  ///< the fetch of the trap vector itself has trapped: only a reset helps
};

struct Layout {
  uint32_t rom_base = 0;
  uint32_t sram_base = 0x2000'0000;
  uint32_t sram_bytes = 0;
};

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

/// Interprets the image in a ROM; code is decoded once, and executes from the ROM only. Misaligned accesses of ROM and
/// SRAM are taken, as two accesses; those of the bus are access faults.
///
/// Timing is that of Ibex with single-cycle multiplier, without branch target ALU and write-back stage, with memories
/// that answer in the next cycle (docs/decisions/manager-cycles.md). `mcycle` and `cycles()` count alike.
///
/// One thread; no allocation after construction.
class Hart {
 public:
  static constexpr uint32_t kResetOffset = 0x80;  ///< of the first instruction from the ROM's base

  Hart(const Layout& layout, std::span<const std::byte> image, Bus& bus);

  /// As after power-up: x and CSRs 0, mtvec at the ROM's base, pc at kResetOffset. SRAM and both counters stay.
  void reset();

  /// Runs until `cycles()` is `limit` or more, or for another reason. An interrupt is taken between two instructions.
  [[nodiscard]] Stop run(uint64_t limit);

  /// Level of the external interrupt, mip.MEIP.
  void set_external_interrupt(bool level) {
    external_interrupt_ = level;
    attention_ = true;
  }

  [[nodiscard]] uint64_t cycles() const { return cycles_; }
  [[nodiscard]] uint64_t instructions() const { return instructions_; }
  /// The hart does nothing for so many cycles: a memory that answers late, a sleep.
  void stall(uint64_t cycles) { cycles_ += cycles; }
  [[nodiscard]] uint32_t pc() const { return pc_; }
  void set_pc(uint32_t pc) { pc_ = pc; }
  [[nodiscard]] std::span<uint32_t, 32> x() { return x_; }
  [[nodiscard]] std::span<const uint32_t, 32> x() const { return x_; }
  [[nodiscard]] const Csrs& csrs() const { return csrs_; }
  [[nodiscard]] std::span<std::byte> sram() { return sram_; }
  [[nodiscard]] std::span<const std::byte> sram() const { return sram_; }
  [[nodiscard]] std::span<const std::byte> rom() const { return rom_; }
  /// Traps taken since power-up.
  [[nodiscard]] uint64_t traps() const { return traps_; }

 private:
  /// True: `address` to `address + bytes` lies within the memory.
  static bool within(uint32_t offset, size_t size, unsigned bytes) { return offset < size && size - offset >= bytes; }
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
  /// Executes from pc_ until the limit, a trap, or wfi (true).
  [[nodiscard]] bool execute(uint64_t limit);

  Layout layout_;
  Bus& bus_;
  std::vector<std::byte> rom_;
  std::vector<Instruction> code_;  // of each halfword of the ROM
  std::vector<std::byte> sram_;
  uint32_t x_[32] = {};
  uint32_t pc_ = 0;
  Csrs csrs_;
  bool external_interrupt_ = false;
  bool waiting_ = false;
  bool attention_ = false;  // an interrupt may have become pending or enabled: run() looks before the next instruction
  uint64_t cycles_ = 0;
  uint64_t instructions_ = 0;
  uint64_t traps_ = 0;
};

}  // namespace weft::rv32
