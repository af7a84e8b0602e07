/// What runs the image of a ROM on one RV32IMC hart in machine mode: an instruction-set simulator (hart.hpp), or RTL
/// (model/ibex).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace weft::rv32 {

/// mcause of the exceptions that the firmware can meet.
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

/// What lies beside ROM and SRAM on the processor's data port. A call may let simulated time pass, or leave by an
/// exception of C++: the processor then stands before the instruction that made it, until its reset.
class Bus {
 public:
  virtual ~Bus() = default;
  /// Loads 1, 2 or 4 bytes at a multiple of their number into the low bits of `value`. False: nothing answers there
  /// (load access fault).
  [[nodiscard]] virtual bool load(uint32_t address, unsigned bytes, uint32_t& value) = 0;
  /// Stores the low 1, 2 or 4 bytes of `value`. False: nothing answers there (store access fault).
  [[nodiscard]] virtual bool store(uint32_t address, unsigned bytes, uint32_t value) = 0;
  /// The processor takes an exception: pc and x are those of the instruction that raised it. `value` is what mtval
  /// gets.
  virtual void exception(Cause, uint32_t /*value*/) {}
};

/// Why run() returned.
enum class Stop : uint8_t {
  kLimit,     ///< the cycle limit is reached
  kWaiting,   ///< the processor is in wfi, and no interrupt that mie enables is pending
  kLockedUp,  ///< the fetch of the trap vector itself has trapped: only a reset helps
};

struct Layout {
  uint32_t rom_base = 0;
  uint32_t sram_base = 0x2000'0000;
  uint32_t sram_bytes = 0;
};

/// What a processor is made of. The numbers stand in recordings.
enum class Engine : uint8_t {
  kSimulator = 0,  ///< Hart: instructions one by one, with the cycles that Ibex would take
  kIbex = 1,       ///< Ibex's RTL
};

/// An image as a ROM holds it: in whole words.
[[nodiscard]] inline std::vector<std::byte> padded_rom(std::span<const std::byte> image) {
  std::vector<std::byte> rom(image.begin(), image.end());
  rom.resize((rom.size() + 3) / 4 * 4);
  return rom;
}

/// One hart with its ROM and SRAM; code executes from the ROM only. One thread.
class Processor {
 public:
  static constexpr uint32_t kResetOffset = 0x80;  ///< of the first instruction from the ROM's base

  virtual ~Processor() = default;
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  [[nodiscard]] virtual Engine engine() const = 0;
  /// As after power-up: x and CSRs 0, mtvec at the ROM's base, pc at kResetOffset. SRAM and both counters stay.
  virtual void reset() = 0;
  /// Runs until `cycles()` is `limit` or more, or for another reason. Cycles in which it sleeps do not count.
  [[nodiscard]] virtual Stop run(uint64_t limit) = 0;
  /// Level of the external interrupt, mip.MEIP.
  virtual void set_external_interrupt(bool level) = 0;

  [[nodiscard]] uint64_t cycles() const { return cycles_; }
  [[nodiscard]] uint64_t instructions() const { return instructions_; }
  /// Traps taken since power-up.
  [[nodiscard]] uint64_t traps() const { return traps_; }
  [[nodiscard]] uint32_t pc() const { return pc_; }
  [[nodiscard]] std::span<const uint32_t, 32> x() const { return x_; }
  [[nodiscard]] std::span<std::byte> sram() { return sram_; }
  [[nodiscard]] std::span<const std::byte> sram() const { return sram_; }
  [[nodiscard]] std::span<const std::byte> rom() const { return rom_; }

 protected:
  /// `rom`: whole words (padded_rom()); outlives it.
  Processor(const Layout& layout, std::span<const std::byte> rom, Bus& bus)
      : layout_(layout),
        bus_(bus),
        rom_(rom),
        sram_memory_(static_cast<std::byte*>(std::calloc(layout.sram_bytes, 1))),
        sram_(sram_memory_.get(), layout.sram_bytes) {
    if (sram_memory_ == nullptr) throw std::bad_alloc();
  }
  /// True: `offset` to `offset + bytes` lies within a memory of this size.
  static bool within(uint32_t offset, size_t size, unsigned bytes) { return offset < size && size - offset >= bytes; }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  Layout layout_;
  Bus& bus_;
  std::span<const std::byte> rom_;
  std::unique_ptr<std::byte, Free> sram_memory_;  // from calloc(): costs what is touched of it
  std::span<std::byte> sram_;
  uint32_t x_[32] = {};
  uint32_t pc_ = 0;
  uint64_t cycles_ = 0;
  uint64_t instructions_ = 0;
  uint64_t traps_ = 0;
};

}  // namespace weft::rv32
