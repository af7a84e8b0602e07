// The HAL on a bare RV32: registers instead of a simulator.
#include "firmware/hal.hpp"

#include "firmware/bare/registers.hpp"

namespace weft::fw::hal {
namespace {

using namespace weft::fw::bare;

/// Reads of a status register before a DMA counts as lost.
constexpr uint32_t kDmaTries = 1'000'000;

volatile uint32_t& word(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

uint64_t read64(uintptr_t address) {
  const uint32_t low = word(address);
  return low | uint64_t{word(address + 4)} << 32;
}

void write64(uintptr_t address, uint64_t value) {
  word(address) = static_cast<uint32_t>(value);
  word(address + 4) = static_cast<uint32_t>(value >> 32);
}

uintptr_t doorbell(uint32_t function, uint32_t queue) { return kDoorbell + function * kDoorbellStride + 16 * queue; }

bool dma(Location place, const void* sram, uint32_t bytes, uint32_t write) {
  write64(kManager + kDmaAddress, place.address);
  word(kManager + kDmaSram) = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(sram));
  word(kManager + kDmaControl) = bytes | static_cast<uint32_t>(place.space) << 16 | write << 18 | place.function << 24;
  for (uint32_t i = 0; i < kDmaTries; i++) {
    const uint32_t status = word(kManager + kDmaStatus);
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
    word(window + 4 * i) = a;
    word(window + 4 * i + 4) = b;
    word(window + 4 * i + 8) = c;
    word(window + 4 * i + 12) = d;
  }
  return word(window) == 1;
}

uint32_t functions() { return word(kManager + kFunctions); }
void function_write(uint32_t function, uint32_t offset, uint64_t value) {
  const uint32_t block = function == kAllFunctions ? WEFT_LIMIT_FUNCTIONS : function;
  write64(kFunction + block * kFunctionStride + offset, value);
}
uint64_t function_read(uint32_t function, uint32_t offset) {
  return read64(kFunction + function * kFunctionStride + offset);
}
void core_function(uint32_t function) { word(kManager + kCoreFunction) = function; }
void show_waypoint(uint32_t waypoint) { word(kManager + kWaypoint) = waypoint; }

bool dma_read(Location from, void* sram, uint32_t bytes) { return dma(from, sram, bytes, 0); }
bool dma_write(Location to, const void* sram, uint32_t bytes) {
  __asm__ volatile("" ::: "memory");  // what the unit is to read is in SRAM
  return dma(to, sram, bytes, 1);
}

bool completion_write(uint32_t function, uint32_t queue, uint64_t iova, const weft_completion_entry* entry) {
  word(kManager + kDmaCompletion) = queue + 1;
  return dma_write(host_at(function, iova), entry, sizeof *entry);
}

bool copy_start(Location source, Location destination, uint64_t bytes) {
  if ((word(kManager + kCopyStatus) & kCopyRunning) != 0) return false;
  write64(kManager + kCopySource, source.address);
  write64(kManager + kCopyDestination, destination.address);
  write64(kManager + kCopyBytes, bytes);
  word(kManager + kCopyControl) = static_cast<uint32_t>(source.space) | static_cast<uint32_t>(destination.space) << 2 |
                                  source.function << 8 | destination.function << 16;
  return true;
}
bool copy_abort() {
  word(kManager + kCopyControl) = kCopyAbort;
  for (uint32_t i = 0; i < kDmaTries; i++) {
    if ((word(kManager + kCopyStatus) & kCopyRunning) == 0) return true;  // the read has cleared what had ended before
  }
  return false;
}
uint32_t copy_result() { return word(kManager + kCopyStatus) & 3; }

uint32_t doorbell_submission(uint32_t function, uint32_t queue) { return word(doorbell(function, queue)); }
uint32_t doorbell_completion(uint32_t function, uint32_t queue) { return word(doorbell(function, queue) + 4); }
uint64_t doorbell_cycle(uint32_t function, uint32_t queue) { return read64(doorbell(function, queue) + 8); }
uint32_t wake_causes() { return word(kManager + kWakeCauses); }
uint32_t doorbell_pending(uint32_t function) { return word(doorbell(function, 0) + kDoorbellPending); }

uint32_t function_requests(uint32_t* departed) {
  const uint32_t requests = word(kManager + kRequests);
  *departed = word(kManager + kDepartures);
  return requests;
}

bool boot_requested(uint32_t function, uint64_t* parameter_page) {
  if (word(doorbell(function, 0) + kBootRequested) == 0) return false;
  *parameter_page = read64(doorbell(function, 0) + kParameterPage);
  return true;
}

void raise_interrupt(uint32_t function, uint32_t vector) { word(kManager + kRaise) = vector | function << 16; }

uint32_t crc32c(const void* data, uint32_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  word(kManager + kCrcControl) = 1;
  uint32_t at = 0;
  if (reinterpret_cast<uintptr_t>(p) % 4 == 0) {
    const auto load = [p](uint32_t offset) {
      uint32_t value;
      __builtin_memcpy(&value, __builtin_assume_aligned(p + offset, 4), sizeof value);
      return value;
    };
    volatile uint32_t& unit = word(kManager + kCrcWord);
    for (; at + 16 <= bytes; at += 16) {
      const uint32_t a = load(at), b = load(at + 4), c = load(at + 8), d = load(at + 12);
      unit = a;
      unit = b;
      unit = c;
      unit = d;
    }
    for (; at + 4 <= bytes; at += 4) unit = load(at);
  }
  for (; at < bytes; at++) word(kManager + kCrcData) = p[at];
  return word(kManager + kCrcResult);
}

uint64_t now() { return read64(kManager + kCycle); }
void charge(uint32_t) {}  // here time passes by itself

void wait_for_event(uint64_t deadline_cycle) {
  write64(kManager + kAlarm, deadline_cycle);
  __asm__ volatile("wfi" ::: "memory");
  [[maybe_unused]] const uint32_t event = word(kManager + kEvent);
}

bool running() { return word(kManager + kRunning) != 0; }
CoreShape core_shape() {
  return CoreShape{read64(kManager + kVmemBytes), word(kManager + kMxuRows), word(kManager + kMxus),
                   word(kManager + kAccBankRows)};
}
uint64_t chip_fingerprint() { return read64(kManager + kFingerprint); }
uint64_t hbm_bytes() { return read64(kManager + kHbmBytes); }

}  // namespace weft::fw::hal
