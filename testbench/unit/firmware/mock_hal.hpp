/// The HAL of firmware tests: HBM and host memory as arrays with guards, a clock that runs by the cost table, a
/// scripted core, and a host that acts whenever the firmware sleeps with nothing else to wait for.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "firmware/hal.hpp"
#include "mock_core.hpp"
#include "zero_pages.hpp"

namespace mock {

inline constexpr uint64_t kHbmBytes = 4u << 20;
inline constexpr uint64_t kHostBase = 0x7f0000000000;  ///< first IOVA that is mapped
inline constexpr uint64_t kHostBytes = 4u << 20;
inline constexpr uint64_t kFingerprint = 0x1234'5678'9abc'def0;

/// Latencies in core cycles, those of the v5e preset.
inline constexpr uint64_t kHbmReadCycles = 600;
inline constexpr uint64_t kHbmWriteCycles = 300;
inline constexpr uint64_t kPcieCycles = 525;  ///< one way
inline constexpr uint64_t kHbmBytesPerCycle = 540;
inline constexpr uint64_t kPcieBytesPerCycle = 10;

/// Bytes that the firmware may write in a space.
struct Range {
  weft_address_space space;
  uint64_t address;
  uint64_t bytes;
};

struct Copy {
  weft_address_space source_space, destination_space;
  uint64_t source, destination, bytes;
  uint32_t source_function, destination_function;
};

/// One function's side of the machine: its registers, doorbells, interrupts and host memory.
struct Side {
  ZeroPages host{kHostBytes};
  std::map<uint32_t, uint64_t> registers;
  std::array<uint32_t, 32> submission_doorbell{}, completion_doorbell{};
  std::array<uint64_t, 32> doorbell_cycle{};
  uint32_t doorbell_pending = 0;
  std::vector<uint32_t> interrupts;  ///< vectors raised, in order
  bool boot_pending = false;
  uint64_t parameter_page = 0;
};

/// Function 0 is the machine's own side.
struct Machine : Side {
  Core core;
  ZeroPages hbm{kHbmBytes};
  uint32_t functions = 1;
  std::map<uint32_t, Side> others;  ///< functions 1 and up, made when they are first looked at
  uint32_t core_function = 0;
  uint32_t requests = 0, departed = 0;  ///< of hosts, for the next function_requests()
  uint64_t now = 1000;
  bool running = true;
  std::vector<std::function<void()>>
      script;  ///< steps of the host; each runs when the firmware sleeps with nothing pending
  size_t script_next = 0;
  std::map<uint64_t, std::function<void()>> at_cycle;  ///< acts of the host at a cycle
  std::vector<Range> writable;                         ///< empty: everything
  uint64_t stray_writes = 0;                           ///< outside `writable`
  /// Called before the firmware tells a host something, with the IOVA that it writes or the register's offset.
  std::function<void(uint64_t)> before_telling;
  int fail_dma_after = -1;  ///< the n-th DMA from now on fails
  uint64_t dma_reads = 0, dma_writes = 0, csr_reads = 0, waits = 0, passes_without_sleep = 0;
  bool event = false;
  bool hung = false;  ///< a bound on the firmware's activity was hit
  // copy engine
  std::vector<Copy> copies;
  bool copy_running = false;
  uint64_t copy_done_cycle = 0;
  uint32_t copy_outcome = 0;  ///< result waiting to be read
  uint32_t copy_answer = 1;   ///< what the next pieces end with
  bool copy_never_ends = false;
  bool copy_unstoppable = false;  ///< an abort does not stop it
  uint64_t copies_aborted = 0;
  uint32_t waypoint = 0;  ///< as the host sees it

  void spend(uint64_t core_cycles);
  Side& side(uint32_t function) { return function == 0 ? *this : others[function]; }
  void ring(uint32_t queue, uint32_t tail, uint32_t function = 0);
  /// Pointer to mapped bytes, or nullptr.
  uint8_t* find(weft_address_space space, uint64_t address, uint64_t bytes, uint32_t function = 0);
};

/// The machine that the HAL works on. A test makes a new one with `reset()`.
Machine& machine();
void reset();

/// CRC-32C, byte by byte.
uint32_t crc32c(const void* data, size_t bytes);

}  // namespace mock
