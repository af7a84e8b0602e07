/// The firmware's only way out: a link-time seam. Three implementations: the simulator's manager (model/chip), the
/// CMocka mock (testbench/unit/firmware), bare RISC-V (firmware/bare). Every call charges manager cycles as
/// spec/core.toml says. No call allocates. All run on the one firmware thread.
#pragma once
#include <stdint.h>

#include "weft/spec/spec.h"

namespace weft::fw {

/// A place in HBM, or in the memory of the host behind one function. Physical: shares of HBM are added already.
struct Location {
  weft_address_space space;  ///< none: nowhere
  uint32_t function;         ///< whose IOVA; HBM: 0
  uint64_t address;
};

constexpr Location hbm_at(uint64_t address) { return Location{WEFT_ADDRESS_SPACE_HBM, 0, address}; }
constexpr Location host_at(uint32_t function, uint64_t iova) {
  return Location{WEFT_ADDRESS_SPACE_HOST, function, iova};
}

namespace hal {

/// PCIe functions of the chip, 1 to WEFT_LIMIT_FUNCTIONS; fixed. A `function` below is smaller.
uint32_t functions();
/// In function_write(): the register of every function, in one write.
inline constexpr uint32_t kAllFunctions = UINT32_MAX;

/// Core registers (spec/core_csr.toml), 64-bit. Cost: mmio_read, mmio_write.
uint64_t csr_read(uint32_t offset);
void csr_write(uint32_t offset, uint64_t value);

/// Pushes one 64-byte command into a core queue (0 to 4) as a burst. False: the queue is full, nothing happened.
bool push_command(uint32_t queue, const uint8_t command[64]);

/// Function registers that the firmware owns (spec/host_interface.toml: BOOT_STAGE, DEVICE_STATE, HEARTBEAT, PROGRESS,
/// BOOT_ERROR, BOOT_ANSWER_NONCE, FIRST_ERROR, PENDING_ERRORS). `offset` is the BAR0 offset. Cost: mmio_write.
void function_write(uint32_t function, uint32_t offset, uint64_t value);
uint64_t function_read(uint32_t function, uint32_t offset);

/// Waypoint shown in FIRMWARE_STATUS (0 to 255). A word of SRAM that BAR0 reads: costs no more than the firmware's own
/// variable.
void show_waypoint(uint32_t waypoint);

/// Manager DMA between SRAM and HBM or host memory; returns when done. False: bus error. `bytes` up to 4096.
/// The last 8 bytes of a host write of 32 bytes or less are written last, by one release store.
bool dma_read(Location from, void* sram, uint32_t bytes);
bool dma_write(Location to, const void* sram, uint32_t bytes);
/// The dma_write of a completion of ring `queue`: a name of its own, because its last 8 bytes, which hold the phase,
/// must be written last whatever else dma_write promises.
bool completion_write(uint32_t function, uint32_t queue, uint64_t iova, const weft_completion_entry* entry);

/// Starts a copy or a fill of any size between HBM and host memory; one at a time. False: one is under way.
/// Source space none: fill with the 32-bit pattern in its address.
bool copy_start(Location source, Location destination, uint64_t bytes);
/// 0: none or still running; 1: done; 2: bus error. Reading a result clears it.
uint32_t copy_result();

/// Ends a copy that runs and waits until the engine stands still: no byte moves afterwards, and no result is left.
/// Nothing runs: nothing happens. False: the engine did not stop within its bound. Cost: mmio_write.
[[nodiscard]] bool copy_abort();

/// Whose host memory the core reaches through its segments; function 0 after reset. Only while the core is drained.
/// Cost: mmio_write.
void core_function(uint32_t function);

/// Doorbells of a function. `submission`: tail written by the host for ring `queue` (0: admin); `completion`: head. The
/// last value written counts.
uint32_t doorbell_submission(uint32_t function, uint32_t queue);
uint32_t doorbell_completion(uint32_t function, uint32_t queue);
/// The wake-cause register, WEFT_MANAGER_WAKE_*: which functions doorbell_pending() and boot_requested() have news of,
/// and whether function_requests() has. Reading clears nothing. Cost: sram_word for each function, and one for requests
/// if there are several, as a look at each would have.
uint32_t wake_causes();
/// Bit q: the submission doorbell of ring q was written since the last call. Reading clears. Cost: none beside that of
/// wake_causes(), which told of it.
uint32_t doorbell_pending(uint32_t function);
/// Device cycle at which ring `queue`'s submission doorbell was last written.
uint64_t doorbell_cycle(uint32_t function, uint32_t queue);

/// Bit f: since the last call the host of function f has reset it, or (also in `departed`) has gone. Reading clears. A
/// departure stays known over a restart of the firmware. Cost: sram_word.
uint32_t function_requests(uint32_t* departed);

/// True once after the host wrote the function's BOOT_CONTROL; `parameter_page` receives its IOVA. Cost: as
/// doorbell_pending().
bool boot_requested(uint32_t function, uint64_t* parameter_page);

/// Raises MSI-X vector `vector` of a function.
void raise_interrupt(uint32_t function, uint32_t vector);

/// CRC-32C (Castagnoli) by the CRC unit. Cost: crc_per_64_bytes for each started 64 bytes.
uint32_t crc32c(const void* data, uint32_t bytes);

/// Device cycle (core clock).
uint64_t now();

/// Charges `manager_cycles`.
void charge(uint32_t manager_cycles);

/// Sleeps until an event: doorbell, core interrupt, copy done, boot request, reset. Returns at once if one is pending
/// since the last return. `deadline_cycle` (device cycles): also an event; UINT64_MAX: none.
void wait_for_event(uint64_t deadline_cycle);

/// False: the simulation ends; the main loop returns.
bool running();

/// Sizes of the core, fixed.
struct CoreShape {
  uint64_t vmem_bytes;
  uint32_t n;              ///< rows and columns of the MXU
  uint32_t mxus;           ///< MXUs, each with an ACC of two banks
  uint32_t acc_bank_rows;  ///< rows of each ACC bank
};
CoreShape core_shape();

/// The preset's fingerprint and HBM size, fixed at reset.
uint64_t chip_fingerprint();
uint64_t hbm_bytes();

}  // namespace hal
}  // namespace weft::fw
