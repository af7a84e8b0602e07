// Core registers: reset, interrupts, segments.
#include "firmware/core/core.hpp"

#include "firmware/hal.hpp"

namespace weft::fw::core {
namespace {

constexpr uint32_t kResetCycles = WEFT_CORE_CORE_RESET_CYCLES / WEFT_MANAGER_CLOCK_DIVIDER + 1;
constexpr uint32_t kResetTries = 8;

}  // namespace

bool reset() {
  hal::csr_write(WEFT_CSR_CONTROL, WEFT_CSR_CONTROL_CORE_RESET);
  for (uint32_t i = 0; i < kResetTries; i++) {
    hal::charge(kResetCycles);
    if ((hal::csr_read(WEFT_CSR_STATUS) & (WEFT_CSR_STATUS_BUSY | WEFT_CSR_STATUS_FAULTED)) == 0) return true;
  }
  return false;
}

uint64_t take_interrupts() {
  const uint64_t bits = hal::csr_read(WEFT_CSR_INTERRUPT);
  if (bits != 0) hal::csr_write(WEFT_CSR_INTERRUPT, bits);
  return bits;
}

void map_segment(uint32_t segment, weft_address_space space, uint64_t base, uint64_t bytes, uint64_t permissions) {
  hal::csr_write(WEFT_CSR_SEGMENT_BASE + segment * WEFT_CSR_SEGMENT_BASE_STRIDE, base);
  hal::csr_write(WEFT_CSR_SEGMENT_LIMIT + segment * WEFT_CSR_SEGMENT_LIMIT_STRIDE, bytes);
  hal::csr_write(WEFT_CSR_SEGMENT_ATTRIBUTES + segment * WEFT_CSR_SEGMENT_ATTRIBUTES_STRIDE,
                 static_cast<uint64_t>(space) | permissions);
}

void move_segment(uint32_t segment, uint64_t base, BaseOf versions) {
  hal::csr_write(WEFT_CSR_SEGMENT_BASE + segment * WEFT_CSR_SEGMENT_BASE_STRIDE,
                 base | static_cast<uint32_t>(versions));
}

void unmap_segment(uint32_t segment) {
  hal::csr_write(WEFT_CSR_SEGMENT_ATTRIBUTES + segment * WEFT_CSR_SEGMENT_ATTRIBUTES_STRIDE, 0);
}

void start_fetch(uint32_t queue, uint64_t address, uint32_t count) {
  hal::csr_write(WEFT_CSR_PREFETCH_BASE + queue * WEFT_CSR_PREFETCH_BASE_STRIDE, address);
  hal::csr_write(WEFT_CSR_PREFETCH_COUNT + queue * WEFT_CSR_PREFETCH_COUNT_STRIDE, count);
}

void start_fetch_of(uint32_t version, uint32_t queue, uint64_t address, uint32_t count) {
  hal::csr_write(WEFT_CSR_PREFETCH_BASE + queue * WEFT_CSR_PREFETCH_BASE_STRIDE, address | version);
  hal::csr_write(WEFT_CSR_PREFETCH_COUNT + queue * WEFT_CSR_PREFETCH_COUNT_STRIDE,
                 version * WEFT_CSR_PREFETCH_COUNT_FETCH | count);
}

bool version_free(uint32_t version) {
  constexpr uint32_t kVersion0 = WEFT_TO_FIELD(WEFT_CSR_PREFETCH_STATUS_VERSIONS_USED, 1u);
  const auto used = static_cast<uint32_t>(hal::csr_read(WEFT_CSR_PREFETCH_STATUS)) / kVersion0;  // the highest field
  return (used >> version & 1) == 0;
}

uint32_t fetch_left(uint32_t queue) {
  return static_cast<uint32_t>(hal::csr_read(WEFT_CSR_PREFETCH_COUNT + queue * WEFT_CSR_PREFETCH_COUNT_STRIDE));
}

}  // namespace weft::fw::core
