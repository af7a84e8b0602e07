// Each stage is announced when it is reached; a failure keeps the stage before it.
#include "firmware/boot.hpp"

#include "firmware/admin.hpp"
#include "firmware/core.hpp"
#include "firmware/faults.hpp"
#include "firmware/hal.hpp"
#include "firmware/memory_map.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using Page = weft_parameter_page;

/// The part of the page that holds fields.
constexpr uint32_t kPageBytes = offsetof(Page, answer_nonce) + sizeof(uint64_t);
constexpr uint64_t kMemoryProbe = UINT64_C(0x5745465450524f42);
constexpr uint64_t kPageAlignment = 64;

/// The host's fields of the parameter page and the firmware's answer. Same layout as the start of weft_parameter_page.
struct Parameters {
  uint32_t magic;
  uint32_t abi_version;
  uint64_t nonce;
  uint64_t admin_submission_iova;
  uint64_t admin_completion_iova;
  uint64_t log_iova;
  uint64_t fault_iova;
  uint64_t feature_mask;
  uint64_t gap;
  uint32_t answer_version;
  uint32_t answer_reserved;
  uint64_t answer_features;
  uint64_t answer_nonce;
};
static_assert(sizeof(Parameters) == kPageBytes && offsetof(Parameters, feature_mask) == offsetof(Page, feature_mask) &&
              offsetof(Parameters, admin_completion_iova) == offsetof(Page, admin_completion_iova) &&
              offsetof(Parameters, fault_iova) == offsetof(Page, fault_iova) &&
              offsetof(Parameters, answer_version) == offsetof(Page, answer_version) &&
              offsetof(Parameters, answer_nonce) == offsetof(Page, answer_nonce));

constexpr uint32_t kVersion = (WEFT_ABI_MAJOR << 16) | WEFT_ABI_MINOR;

void enter(State& state, weft_boot_stage stage) {
  hal::function_write(WEFT_REG_BOOT_STAGE, stage);
  log_event(state, LogLevel::kInfo, WEFT_LOG_EVENT_BOOT_STAGE, stage);
}

bool fail(weft_error error) {
  hal::function_write(WEFT_REG_BOOT_ERROR, error);
  note_error(error);
  hal::function_write(WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_FAILED);
  hal::raise_interrupt(completion_vector(kAdminQueue));
  return false;
}

bool wait_for_request(uint64_t* page) {
  while (hal::running()) {
    if (hal::boot_requested(page)) return true;
    hal::wait_for_event(UINT64_MAX);
  }
  return false;
}

/// The last word of the reserved area holds what is written to it.
bool probe_memory() {
  const uint64_t address = WEFT_MANAGER_HBM_RESERVED_BYTES - sizeof kMemoryProbe;
  uint64_t found = 0;
  return hal::dma_write(WEFT_ADDRESS_SPACE_HBM, address, &kMemoryProbe, sizeof kMemoryProbe) &&
         hal::dma_read(WEFT_ADDRESS_SPACE_HBM, address, &found, sizeof found) && found == kMemoryProbe;
}

bool answer(uint64_t page, Parameters& p) {
  p.answer_version = kVersion;
  p.answer_reserved = 0;
  p.answer_features = 0;
  p.answer_nonce = p.nonce;
  constexpr uint32_t kAnswerBytes = kPageBytes - offsetof(Parameters, answer_version);
  return hal::dma_write(WEFT_ADDRESS_SPACE_HOST, page + offsetof(Parameters, answer_version), &p.answer_version,
                        kAnswerBytes);
}

bool rings_valid(const Parameters& p) {
  return ring_memory_valid(p.admin_submission_iova, WEFT_LIMIT_ADMIN_RING_ENTRIES, sizeof(weft_submission_entry)) &&
         ring_memory_valid(p.admin_completion_iova, WEFT_LIMIT_ADMIN_RING_ENTRIES, sizeof(weft_completion_entry)) &&
         ring_memory_valid(p.log_iova, WEFT_LIMIT_LOG_ENTRIES, sizeof(weft_log_record)) &&
         ring_memory_valid(p.fault_iova, WEFT_LIMIT_FAULT_ENTRIES, sizeof(weft_fault_record));
}

/// Reads both ends of the admin submission ring: is it mapped?
bool rings_reachable(const Parameters& p) {
  weft_submission_entry entry;
  const uint64_t last = p.admin_submission_iova + (WEFT_LIMIT_ADMIN_RING_ENTRIES - 1) * sizeof entry;
  return hal::dma_read(WEFT_ADDRESS_SPACE_HOST, p.admin_submission_iova, &entry, sizeof entry) &&
         hal::dma_read(WEFT_ADDRESS_SPACE_HOST, last, &entry, sizeof entry);
}

}  // namespace

bool boot(State& state) {
  state.waypoint = Waypoint::kBoot;
  hal::function_write(WEFT_REG_BOOT_STAGE, WEFT_BOOT_STAGE_ROM);
  hal::function_write(WEFT_REG_BOOT_ERROR, WEFT_ERROR_OK);
  hal::function_write(WEFT_REG_BOOT_ANSWER_NONCE, 0);
  state.watchdog_cycles = WEFT_CORE_WATCHDOG_DEFAULT_CYCLES;
  state.log.level = LogLevel::kInfo;
  uint64_t page = 0;
  if (!wait_for_request(&page)) return false;
  hal::function_write(WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_BOOTING);
  enter(state, WEFT_BOOT_STAGE_IMAGE_VERIFIED);

  if (!core::reset() || !probe_memory()) return fail(WEFT_ERROR_BOOT_FAILED);
  for (uint32_t i = 1; i < WEFT_SEGMENTS; i++) core::unmap_segment(i);
  enter(state, WEFT_BOOT_STAGE_MEMORY_INITIALISED);

  Parameters p;
  if (page % kPageAlignment != 0 || !host_range_valid(page, sizeof(Page))) return fail(WEFT_ERROR_BOOT_FAILED);
  if (!hal::dma_read(WEFT_ADDRESS_SPACE_HOST, page, &p, sizeof p)) return fail(WEFT_ERROR_DMA_FAULT);
  if (p.magic != WEFT_MAGIC || p.nonce == 0) return fail(WEFT_ERROR_BOOT_FAILED);
  if (!answer(page, p)) return fail(WEFT_ERROR_DMA_FAULT);  // before the version is judged: the page then names both
  if (p.abi_version >> 16 != WEFT_ABI_MAJOR) return fail(WEFT_ERROR_ABI_MISMATCH);
  if (!rings_valid(p)) return fail(WEFT_ERROR_BOOT_FAILED);
  state.log.iova = p.log_iova;
  state.faults.iova = p.fault_iova;
  enter(state, WEFT_BOOT_STAGE_PARAMETERS_ACCEPTED);

  if (!rings_reachable(p)) return fail(WEFT_ERROR_DMA_FAULT);
  open_queue(state, kAdminQueue, p.admin_submission_iova, WEFT_LIMIT_ADMIN_RING_ENTRIES, p.admin_completion_iova,
             WEFT_LIMIT_ADMIN_RING_ENTRIES);
  enter(state, WEFT_BOOT_STAGE_RINGS_UP);

  hal::function_write(WEFT_REG_BOOT_ANSWER_NONCE, p.nonce);  // before READY, so that a stale READY is never believed
  enter(state, WEFT_BOOT_STAGE_READY);
  hal::function_write(WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_READY);
  hal::raise_interrupt(completion_vector(kAdminQueue));
  return true;
}

}  // namespace weft::fw
