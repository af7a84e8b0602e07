// The mock behind firmware/hal.hpp.
#include "mock_hal.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace mock {
namespace {

std::unique_ptr<Machine> the_machine;
constexpr uint64_t kDivider = WEFT_MANAGER_CLOCK_DIVIDER;
constexpr uint64_t kActivityLimit = 4'000'000;

constexpr std::array<uint32_t, 256> kCrcOfByte = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; byte++) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; bit++) table[byte] = (table[byte] >> 1) ^ (0x82f63b78u & (0u - (table[byte] & 1)));
  }
  return table;
}();

bool allowed(const Machine& m, weft_address_space space, uint64_t address, uint64_t bytes) {
  if (m.writable.empty()) return true;
  return std::any_of(m.writable.begin(), m.writable.end(), [&](const Range& r) {
    return r.space == space && address >= r.address && address + bytes <= r.address + r.bytes;
  });
}

bool dma_fails(Machine& m) {
  if (m.fail_dma_after < 0) return false;
  return m.fail_dma_after-- == 0;
}

void finish_copy(Machine& m) {
  m.copy_running = false;
  m.copy_outcome = m.copy_answer;
  m.event = true;
  const Copy& c = m.copies.back();
  uint8_t* to = m.find(c.destination_space, c.destination, c.bytes, c.destination_function);
  if (to == nullptr || m.copy_answer != 1) {
    m.copy_outcome = 2;
  } else if (c.source_space == WEFT_ADDRESS_SPACE_NONE) {
    for (uint64_t i = 0; i < c.bytes; i++) to[i] = static_cast<uint8_t>(c.source >> (8 * (i & 3)));
  } else if (const uint8_t* from = m.find(c.source_space, c.source, c.bytes, c.source_function)) {
    std::memmove(to, from, c.bytes);
  } else {
    m.copy_outcome = 2;
  }
}

}  // namespace

Machine& machine() { return *the_machine; }
void reset() {
  the_machine = std::make_unique<Machine>();
  the_machine->core.read_command = [](uint64_t address) {
    return machine().find(WEFT_ADDRESS_SPACE_HBM, address, WEFT_COMMAND_BYTES);
  };
  the_machine->core.fetch_cycles = kHbmReadCycles;
}

uint8_t* Machine::find(weft_address_space space, uint64_t address, uint64_t bytes, uint32_t function) {
  const bool is_hbm = space == WEFT_ADDRESS_SPACE_HBM;
  if (!is_hbm && space != WEFT_ADDRESS_SPACE_HOST) return nullptr;
  const uint64_t base = is_hbm ? 0 : kHostBase;
  ZeroPages& memory = is_hbm ? hbm : side(function).host;
  if (address < base || address - base > memory.size() || bytes > memory.size() - (address - base)) return nullptr;
  return memory.data() + (address - base);
}

void Machine::ring(uint32_t queue, uint32_t tail, uint32_t function) {
  Side& s = side(function);
  s.submission_doorbell[queue] = tail;
  s.doorbell_cycle[queue] = now;
  s.doorbell_pending |= 1u << queue;
  event = true;
}

void Machine::spend(uint64_t core_cycles) {
  const uint64_t until = now + core_cycles;
  const bool before = core.interrupt();
  core.advance(until);
  if (!before && core.interrupt()) event = true;
  now = until;
  if (copy_running && !copy_never_ends && copy_done_cycle <= now) finish_copy(*this);
  while (!at_cycle.empty() && at_cycle.begin()->first <= now) {
    const auto act = at_cycle.begin()->second;
    at_cycle.erase(at_cycle.begin());
    act();
  }
}

uint32_t crc32c(const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  uint32_t crc = ~0u;
  for (size_t i = 0; i < bytes; i++) crc = (crc >> 8) ^ kCrcOfByte[(crc ^ p[i]) & 0xff];
  return ~crc;
}

}  // namespace mock

namespace weft::fw::hal {
using mock::machine;

uint64_t csr_read(uint32_t offset) {
  machine().csr_reads++;
  machine().spend(WEFT_MANAGER_MMIO_READ * mock::kDivider);
  return machine().core.read(offset, machine().now);
}
void csr_write(uint32_t offset, uint64_t value) {
  machine().spend(WEFT_MANAGER_MMIO_WRITE * mock::kDivider);
  machine().core.write(offset, value, machine().now);
}
bool push_command(uint32_t queue, const uint8_t command[64]) {
  machine().spend(WEFT_MANAGER_COMMAND_PUSH_CORE_CYCLES);
  return machine().core.push(queue, command, machine().now);
}
uint32_t functions() { return machine().functions; }
void function_write(uint32_t function, uint32_t offset, uint64_t value) {
  auto& m = machine();
  m.spend(WEFT_MANAGER_MMIO_WRITE * mock::kDivider);
  if (m.before_telling) m.before_telling(offset);
  for (uint32_t f = 0; f < m.functions; f++) {
    if (f == function || function == kAllFunctions) m.side(f).registers[offset] = value;
  }
}
uint64_t function_read(uint32_t function, uint32_t offset) {
  machine().spend(WEFT_MANAGER_MMIO_READ * mock::kDivider);
  return machine().side(function).registers[offset];
}
void core_function(uint32_t function) {
  machine().spend(WEFT_MANAGER_MMIO_WRITE * mock::kDivider);
  machine().core_function = function;
}
void show_waypoint(uint32_t waypoint) { machine().waypoint = waypoint; }
bool dma_read(Location place, void* sram, uint32_t bytes) {
  auto& m = machine();
  m.dma_reads++;
  const bool hbm = place.space == WEFT_ADDRESS_SPACE_HBM;
  m.spend(WEFT_MANAGER_DMA_KICK * mock::kDivider + (hbm ? mock::kHbmReadCycles + bytes / mock::kHbmBytesPerCycle
                                                        : 2 * mock::kPcieCycles + bytes / mock::kPcieBytesPerCycle));
  const uint8_t* from = m.find(place.space, place.address, bytes, place.function);
  if (from == nullptr || bytes > 4096 || mock::dma_fails(m)) return false;
  std::memcpy(sram, from, bytes);
  return true;
}
bool dma_write(Location place, const void* sram, uint32_t bytes) {
  auto& m = machine();
  m.dma_writes++;
  const bool hbm = place.space == WEFT_ADDRESS_SPACE_HBM;
  m.spend(WEFT_MANAGER_DMA_KICK * mock::kDivider +
          (hbm ? mock::kHbmWriteCycles : mock::kPcieCycles + bytes / mock::kPcieBytesPerCycle));
  uint8_t* to = m.find(place.space, place.address, bytes, place.function);
  if (to == nullptr || bytes > 4096 || mock::dma_fails(m)) return false;
  if (!mock::allowed(m, place.space, place.address, bytes)) m.stray_writes++;
  if (!hbm && m.before_telling) m.before_telling(place.address);
  std::memcpy(to, sram, bytes);
  return true;
}

bool completion_write(uint32_t function, uint32_t, uint64_t iova, const weft_completion_entry* entry) {
  return dma_write(host_at(function, iova), entry, sizeof *entry);
}
bool copy_start(Location source, Location destination, uint64_t bytes) {
  auto& m = machine();
  m.spend(WEFT_MANAGER_DMA_KICK * mock::kDivider);
  if (m.copy_running) return false;
  m.copies.push_back({source.space, destination.space, source.address, destination.address, bytes, source.function,
                      destination.function});
  m.copy_running = true;
  m.copy_outcome = 0;
  m.copy_done_cycle = m.now + 2 * mock::kPcieCycles + bytes / mock::kPcieBytesPerCycle;
  if (!mock::allowed(m, destination.space, destination.address, bytes)) m.stray_writes++;
  return true;
}
bool copy_abort() {
  machine().spend(WEFT_MANAGER_MMIO_WRITE * mock::kDivider);
  if (machine().copy_running && machine().copy_unstoppable) return false;
  machine().copies_aborted += machine().copy_running ? 1 : 0;
  machine().copy_running = false;
  machine().copy_outcome = 0;
  return true;
}
uint32_t copy_result() {
  machine().spend(WEFT_MANAGER_MMIO_READ * mock::kDivider);
  return std::exchange(machine().copy_outcome, 0);
}
uint32_t doorbell_submission(uint32_t function, uint32_t queue) {
  machine().spend(WEFT_MANAGER_MMIO_READ * mock::kDivider);
  return machine().side(function).submission_doorbell.at(queue);
}
uint32_t doorbell_completion(uint32_t function, uint32_t queue) {
  machine().spend(WEFT_MANAGER_MMIO_READ * mock::kDivider);
  return machine().side(function).completion_doorbell.at(queue);
}
uint32_t wake_causes() {
  auto& m = machine();
  m.spend(WEFT_MANAGER_MMIO_READ * mock::kDivider);
  if (++m.passes_without_sleep > mock::kActivityLimit) {
    m.hung = true;
    m.running = false;
  }
  uint32_t causes = (m.requests | m.departed) != 0 ? WEFT_MANAGER_WAKE_REQUESTS : 0;
  for (uint32_t f = 0; f < m.functions; f++) {
    if (m.side(f).doorbell_pending != 0 || m.side(f).boot_pending) causes |= 1u << f;
  }
  return causes;
}
uint32_t doorbell_pending(uint32_t function) { return std::exchange(machine().side(function).doorbell_pending, 0); }
uint64_t doorbell_cycle(uint32_t function, uint32_t queue) {
  machine().spend(WEFT_MANAGER_MMIO_READ * mock::kDivider);
  return machine().side(function).doorbell_cycle.at(queue);
}
uint32_t function_requests(uint32_t* departed) {
  auto& m = machine();
  m.spend(WEFT_MANAGER_SRAM_WORD * mock::kDivider);
  *departed = std::exchange(m.departed, 0);
  return std::exchange(m.requests, 0);
}
bool boot_requested(uint32_t function, uint64_t* parameter_page) {
  auto& side = machine().side(function);
  if (!side.boot_pending) return false;
  side.boot_pending = false;
  *parameter_page = side.parameter_page;
  return true;
}
void raise_interrupt(uint32_t function, uint32_t vector) {
  machine().spend(WEFT_MANAGER_MMIO_WRITE * mock::kDivider);
  machine().side(function).interrupts.push_back(vector);
}
uint32_t crc32c(const void* data, uint32_t bytes) {
  machine().spend(WEFT_MANAGER_CRC_PER_64_BYTES * ((bytes + 63) / 64) * mock::kDivider);
  return mock::crc32c(data, bytes);
}
uint64_t now() { return machine().now; }
void charge(uint32_t manager_cycles) { machine().spend(manager_cycles * mock::kDivider); }

void wait_for_event(uint64_t deadline_cycle) {
  auto& m = machine();
  m.waits++;
  m.passes_without_sleep = 0;
  while (!m.event && m.running) {
    uint64_t next = std::min(deadline_cycle, m.core.next_event());
    if (m.copy_running && !m.copy_never_ends) next = std::min(next, m.copy_done_cycle);
    if (!m.at_cycle.empty()) next = std::min(next, m.at_cycle.begin()->first);
    if (next == UINT64_MAX) {  // nothing is pending: the host's turn
      if (m.script_next == m.script.size())
        m.running = false;
      else
        m.script[m.script_next++]();
      continue;
    }
    if (next > m.now)
      m.spend(next - m.now);
    else
      m.spend(0);
    if (m.now >= deadline_cycle) break;
  }
  m.event = false;
}
bool running() { return machine().running; }
CoreShape core_shape() { return CoreShape{1u << 18, 8, 2, 64}; }
uint64_t chip_fingerprint() { return mock::kFingerprint; }
uint64_t hbm_bytes() { return mock::kHbmBytes; }

}  // namespace weft::fw::hal
