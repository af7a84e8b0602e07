// The HAL on a bare RV32: registers instead of a simulator.
#include "firmware/hal.hpp"

#include "firmware/bare/access.hpp"
#include "firmware/bare/registers.hpp"

namespace weft::fw::hal {
namespace {

using namespace weft::fw::bare;

/// Reads of a status register before a DMA counts as lost.
constexpr uint32_t kDmaTries = 1'000'000;

uint64_t read64(uintptr_t address) {
  const uint32_t low = load(address);
  return low | uint64_t{load(address + 4)} << 32;
}

void write64(uintptr_t address, uint64_t value) {
  store(address, static_cast<uint32_t>(value));
  store(address + 4, static_cast<uint32_t>(value >> 32));
}

uintptr_t doorbell(uint32_t function, uint32_t queue) { return kDoorbell + function * kDoorbellStride + 16 * queue; }

bool dma(Location place, const void* sram, uint32_t bytes, uint32_t write) {
  write64(kManager + kDmaAddress, place.address);
  store_pointer(kManager + kDmaSram, sram);
  store(kManager + kDmaControl, bytes | static_cast<uint32_t>(place.space) << 16 | write << 18 | place.function << 24);
  for (uint32_t i = 0; i < kDmaTries; i++) {
    const uint32_t status = load(kManager + kDmaStatus);
    if (status != 0) {
      __asm__ volatile("" ::: "memory");  // the unit has written SRAM
      return status == 1;
    }
  }
  return false;
}

}  // namespace

uint64_t csr_read(uint32_t offset) { return read64(kCore + offset); }
void csr_write(uint32_t offset, uint64_t value) { write64(kCore + offset, value); }

bool push_command(uint32_t queue, const uint8_t command[64]) {
  const uintptr_t window = kPush + queue * WEFT_COMMAND_BYTES;
  const auto* words = static_cast<const uint32_t*>(__builtin_assume_aligned(command, alignof(uint32_t)));
  for (uint32_t i = 0; i < WEFT_COMMAND_BYTES / 4; i += 4) {  // loads first: a store does not wait for them then
    const uint32_t a = words[i], b = words[i + 1], c = words[i + 2], d = words[i + 3];
    store(window + 4 * i, a);
    store(window + 4 * i + 4, b);
    store(window + 4 * i + 8, c);
    store(window + 4 * i + 12, d);
  }
  return load(window) == 1;
}

uint32_t functions() { return load(kManager + kFunctions); }
void function_write(uint32_t function, uint32_t offset, uint64_t value) {
  const uint32_t block = function == kAllFunctions ? WEFT_LIMIT_FUNCTIONS : function;
  write64(kFunction + block * kFunctionStride + offset, value);
}
uint64_t function_read(uint32_t function, uint32_t offset) {
  return read64(kFunction + function * kFunctionStride + offset);
}
void core_function(uint32_t function) { store(kManager + kCoreFunction, function); }
void show_waypoint(uint32_t waypoint) { store(kManager + kWaypoint, waypoint); }

bool dma_read(Location from, void* sram, uint32_t bytes) { return dma(from, sram, bytes, 0); }
bool dma_write(Location to, const void* sram, uint32_t bytes) {
  __asm__ volatile("" ::: "memory");  // what the unit is to read is in SRAM
  return dma(to, sram, bytes, 1);
}

bool completion_write(uint32_t function, uint32_t queue, uint64_t iova, const weft_completion_entry* entry) {
  store(kManager + kDmaCompletion, queue + 1);
  return dma_write(host_at(function, iova), entry, sizeof *entry);
}

bool copy_start(Location source, Location destination, uint64_t bytes) {
  if ((load(kManager + kCopyStatus) & kCopyRunning) != 0) return false;
  write64(kManager + kCopySource, source.address);
  write64(kManager + kCopyDestination, destination.address);
  write64(kManager + kCopyBytes, bytes);
  store(kManager + kCopyControl, static_cast<uint32_t>(source.space) | static_cast<uint32_t>(destination.space) << 2 |
                                     source.function << 8 | destination.function << 16);
  return true;
}
bool copy_abort() {
  store(kManager + kCopyControl, kCopyAbort);
  for (uint32_t i = 0; i < kDmaTries; i++) {
    if ((load(kManager + kCopyStatus) & kCopyRunning) == 0) return true;  // the read has cleared what had ended before
  }
  return false;
}
uint32_t copy_result() { return load(kManager + kCopyStatus) & 3; }

uint32_t doorbell_submission(uint32_t function, uint32_t queue) { return load(doorbell(function, queue)); }
uint32_t doorbell_completion(uint32_t function, uint32_t queue) { return load(doorbell(function, queue) + 4); }
uint64_t doorbell_cycle(uint32_t function, uint32_t queue) { return read64(doorbell(function, queue) + 8); }
uint32_t wake_causes() { return load(kManager + kWakeCauses); }
uint32_t doorbell_pending(uint32_t function) { return load(doorbell(function, 0) + kDoorbellPending); }

uint32_t function_requests(uint32_t* departed) {
  const uint32_t requests = load(kManager + kRequests);
  *departed = load(kManager + kDepartures);
  return requests;
}

bool boot_requested(uint32_t function, uint64_t* parameter_page) {
  if (load(doorbell(function, 0) + kBootRequested) == 0) return false;
  *parameter_page = read64(doorbell(function, 0) + kParameterPage);
  return true;
}

void raise_interrupt(uint32_t function, uint32_t vector) { store(kManager + kRaise, vector | function << 16); }

uint32_t crc32c(const void* data, uint32_t bytes) {
  __asm__ volatile("" ::: "memory");  // what the unit is to read is in SRAM
  store_pointer(kManager + kCrcSram, data);
  store(kManager + kCrcBytes, bytes);
  return load(kManager + kCrcResult);
}

uint64_t now() { return read64(kManager + kCycle); }
void charge(uint32_t) {}  // here time passes by itself

void wait_for_event(uint64_t deadline_cycle) {
  write64(kManager + kAlarm, deadline_cycle);
  wait_for_interrupt();
  [[maybe_unused]] const uint32_t event = load(kManager + kEvent);
}

bool running() { return load(kManager + kRunning) != 0; }
CoreShape core_shape() {
  return CoreShape{read64(kManager + kVmemBytes), load(kManager + kMxuRows), load(kManager + kMxus),
                   load(kManager + kAccBankRows)};
}
uint64_t chip_fingerprint() { return read64(kManager + kFingerprint); }
uint64_t hbm_bytes() { return read64(kManager + kHbmBytes); }

}  // namespace weft::fw::hal
