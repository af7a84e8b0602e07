/// A tensor core on a bench: a plain memory, helpers for commands, and a small matrix program.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/core/memory_bus.hpp"
#include "model/core/tensor_core.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::bench {

/// HBM and host memory of 4 MiB each with one latency and the chip's HBM bandwidth. Accesses that touch `bad_address`
/// fail.
class SimpleBus final : public core::MemoryBus {
 public:
  static constexpr uint64_t kBytes = 4u << 20;
  explicit SimpleBus(const spec::Chip& chip);
  bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) override;
  bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) override;
  uint64_t schedule_read(weft_address_space space, uint64_t bytes, uint64_t cycle) override;
  uint64_t schedule_write(weft_address_space space, uint64_t bytes, uint64_t cycle) override;
  bool congested(weft_address_space space, uint64_t cycle) const override;

  std::vector<std::byte>& memory(weft_address_space space) { return space == WEFT_ADDRESS_SPACE_HOST ? host_ : hbm_; }
  uint64_t bad_address = UINT64_MAX;
  bool writes_are_quick = false;  ///< acknowledged without latency
  unsigned refuse_percent = 0;    ///< of the cycles, requests are refused; answers come up to 20 cycles later

 private:
  uint64_t book(uint64_t bytes, uint64_t cycle);
  [[nodiscard]] uint64_t late(uint64_t cycle) const;
  [[nodiscard]] bool good(weft_address_space space, uint64_t address, uint64_t bytes) const;

  const uint64_t bytes_per_cycle_;
  const uint64_t read_latency_;
  const uint64_t write_latency_;
  uint64_t free_at_bytes_ = 0;  // the channel is free from free_at_bytes_ / bytes_per_cycle_ on
  std::vector<std::byte> hbm_;
  std::vector<std::byte> host_;
};

/// Waits and posts of a header, none by default.
struct Semaphores {
  uint8_t wait0 = 0xff;
  uint16_t wait_count0 = 0;
  uint8_t wait1 = 0xff;
  uint16_t wait_count1 = 0;
  uint8_t post0 = 0xff;
  uint16_t post_count0 = 0;
  uint8_t post1 = 0xff;
  uint16_t post_count1 = 0;
};
[[nodiscard]] spec::CommandHeader header(weft_opcode opcode, uint16_t tag, const Semaphores& semaphores);
[[nodiscard]] spec::Command sync_command(weft_opcode opcode, uint16_t tag, const Semaphores& semaphores = {});

/// A core, its memory, and segment 1 = all of HBM, segment 3 = all of host memory, both readable and writable.
class CoreBench {
 public:
  explicit CoreBench(std::string_view chip, core::CoreKind kind = core::CoreKind::kRtl,
                     const core::CoreOptions& options = {});

  /// Pushes when there is room, advancing meanwhile. False: no room within 1 M cycles.
  bool push(unsigned queue, const spec::Command& command);
  /// Advances until nothing is busy or a fault is captured. False: neither within `limit_cycles`.
  bool run(uint64_t limit_cycles = 4'000'000);
  void write(uint32_t offset, uint64_t value);
  /// Advances by so many cycles, whatever interrupts rise.
  void skip(uint64_t cycles);
  void reset();
  [[nodiscard]] uint64_t read(uint32_t offset) { return core->read_csr(offset); }
  [[nodiscard]] std::array<uint64_t, WEFT_COUNTERS> counters();

  const spec::Chip& chip;
  SimpleBus bus;
  std::unique_ptr<core::TensorCore> core;
};

/// What the first fault's registers say.
struct FaultInfo {
  unsigned code, unit, queue, tag;
  uint64_t address, cycle, count;
};
[[nodiscard]] FaultInfo fault(CoreBench& bench);

/// y = relu(x w + b) of small whole numbers, exact in bf16 and f32: copies in, product, epilogue, copy out.
struct MatmulProgram {
  unsigned m, tiles, cols;
  uint64_t x_address = 0x0000, w_address = 0x80000, b_address = 0x180000, y_address = 0x200000;  // in HBM
  uint16_t first_tag = 1;

  void place(CoreBench& bench, unsigned seed) const;
  /// Five commands on four queues; false: a push failed.
  bool push(CoreBench& bench) const;
  /// f32 results as a plain loop computes them, m x n, 0 beyond cols.
  [[nodiscard]] std::vector<float> expected(CoreBench& bench) const;
  [[nodiscard]] std::vector<float> result(CoreBench& bench) const;
};

}  // namespace weft::bench
