// Each stage is announced when it is reached; a failure keeps the stage before it.
#include "firmware/boot.hpp"

#include "firmware/admin/admin.hpp"
#include "firmware/admin/faults.hpp"
#include "firmware/core/core.hpp"
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

void enter(Function& function, weft_boot_stage stage) {
  hal::function_write(function.index, WEFT_REG_BOOT_STAGE, stage);
  log_event(function, LogLevel::kInfo, WEFT_LOG_EVENT_BOOT_STAGE, stage);
}

void fail(Function& function, weft_error error) {
  function.state = FunctionState::kFailed;
  hal::function_write(function.index, WEFT_REG_BOOT_ERROR, error);
  note_error(function, error);
  hal::function_write(function.index, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_FAILED);
  hal::raise_interrupt(function.index, completion_vector(kAdminQueue));
}

/// The last word of the reserved area holds what is written to it.
bool probe_memory() {
  const Location place = hbm_at(WEFT_MANAGER_HBM_RESERVED_BYTES - sizeof kMemoryProbe);
  uint64_t found = 0;
  return hal::dma_write(place, &kMemoryProbe, sizeof kMemoryProbe) && hal::dma_read(place, &found, sizeof found) &&
         found == kMemoryProbe;
}

/// The chip's part, once: a clean core and memory that answers.
bool prepare_chip(State& state) {
  if (state.core_ready) return true;
  if (!core::reset() || !probe_memory()) return false;
  for (uint32_t i = 1; i < WEFT_SEGMENTS; i++) core::unmap_segment(i);
  state.core_ready = true;
  return true;
}

bool answer(const Function& function, uint64_t page, Parameters& p) {
  p.answer_version = kVersion;
  p.answer_reserved = 0;
  p.answer_features = 0;
  p.answer_nonce = p.nonce;
  constexpr uint32_t kAnswerBytes = kPageBytes - offsetof(Parameters, answer_version);
  return hal::dma_write(host_at(function.index, page + offsetof(Parameters, answer_version)), &p.answer_version,
                        kAnswerBytes);
}

bool rings_valid(const Parameters& p) {
  return ring_memory_valid(p.admin_submission_iova, WEFT_LIMIT_ADMIN_RING_ENTRIES, sizeof(weft_submission_entry)) &&
         ring_memory_valid(p.admin_completion_iova, WEFT_LIMIT_ADMIN_RING_ENTRIES, sizeof(weft_completion_entry)) &&
         ring_memory_valid(p.log_iova, WEFT_LIMIT_LOG_ENTRIES, sizeof(weft_log_record)) &&
         ring_memory_valid(p.fault_iova, WEFT_LIMIT_FAULT_ENTRIES, sizeof(weft_fault_record));
}

/// Reads both ends of the admin submission ring: is it mapped?
bool rings_reachable(const Function& function, const Parameters& p) {
  weft_submission_entry entry;
  const uint64_t last = p.admin_submission_iova + (WEFT_LIMIT_ADMIN_RING_ENTRIES - 1) * sizeof entry;
  return hal::dma_read(host_at(function.index, p.admin_submission_iova), &entry, sizeof entry) &&
         hal::dma_read(host_at(function.index, last), &entry, sizeof entry);
}

/// From the request to READY. Not OK: why, and the stages reached stay to be seen.
weft_error boot(State& state, Function& function, uint64_t page) {
  hal::function_write(function.index, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_BOOTING);
  enter(function, WEFT_BOOT_STAGE_IMAGE_VERIFIED);

  if (!prepare_chip(state)) return WEFT_ERROR_BOOT_FAILED;
  enter(function, WEFT_BOOT_STAGE_MEMORY_INITIALISED);

  Parameters p;
  if (page % kPageAlignment != 0 || !host_range_valid(page, sizeof(Page))) return WEFT_ERROR_BOOT_FAILED;
  if (!hal::dma_read(host_at(function.index, page), &p, sizeof p)) return WEFT_ERROR_DMA_FAULT;
  if (p.magic != WEFT_MAGIC || p.nonce == 0) return WEFT_ERROR_BOOT_FAILED;
  // Before the version is judged: the page then names both.
  if (!answer(function, page, p)) return WEFT_ERROR_DMA_FAULT;
  if (p.abi_version >> 16 != WEFT_ABI_MAJOR) return WEFT_ERROR_ABI_MISMATCH;
  if (!rings_valid(p)) return WEFT_ERROR_BOOT_FAILED;
  function.log.iova = p.log_iova;
  function.faults.iova = p.fault_iova;
  enter(function, WEFT_BOOT_STAGE_PARAMETERS_ACCEPTED);

  if (!rings_reachable(function, p)) return WEFT_ERROR_DMA_FAULT;
  open_completion_ring(function, kAdminQueue, p.admin_completion_iova, WEFT_LIMIT_ADMIN_RING_ENTRIES);
  open_queue(function, kAdminQueue, p.admin_submission_iova, WEFT_LIMIT_ADMIN_RING_ENTRIES, kAdminQueue);
  enter(function, WEFT_BOOT_STAGE_RINGS_UP);

  // Before READY, so that a stale READY is never believed.
  hal::function_write(function.index, WEFT_REG_BOOT_ANSWER_NONCE, p.nonce);
  enter(function, WEFT_BOOT_STAGE_READY);
  function.state = FunctionState::kReady;
  hal::function_write(function.index, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_READY);
  hal::raise_interrupt(function.index, completion_vector(kAdminQueue));
  return WEFT_ERROR_OK;
}

}  // namespace

void prepare_function(Function& function) {
  const uint32_t index = function.index;
  const uint64_t base = function.hbm_base;
  const uint64_t bytes = function.hbm_bytes;
  const uint64_t written_end = function.written_end;
  __builtin_memset(&function, 0, sizeof function);
  function.index = index;
  function.written_end = written_end;
  function.hbm_base = base;
  function.hbm_bytes = bytes;
  function.watchdog_cycles = WEFT_CORE_WATCHDOG_DEFAULT_CYCLES;
  function.log.level = LogLevel::kInfo;
  hal::function_write(index, WEFT_REG_BOOT_STAGE, WEFT_BOOT_STAGE_ROM);
  hal::function_write(index, WEFT_REG_BOOT_ERROR, WEFT_ERROR_OK);
  hal::function_write(index, WEFT_REG_BOOT_ANSWER_NONCE, 0);
  hal::function_write(index, WEFT_REG_HBM_BYTES, bytes);
}

void prepare_functions(State& state) {
  state.waypoint = Waypoint::kBoot;
  state.function_count = hal::functions();
  const uint32_t count = state.function_count;
  const uint32_t batch = WEFT_LIMIT_FUNCTIONS / count, records = kProgramRecords / count;
  state.batch_entries = static_cast<uint8_t>(batch < kBatchEntries ? batch : kBatchEntries);
  state.program_records = static_cast<uint8_t>(records < WEFT_LIMIT_PROGRAMS ? records : WEFT_LIMIT_PROGRAMS);
  // Divided in units of the alignment, which are fewer than 2^32: a 64-bit division is a library call on RV32.
  const auto units = static_cast<uint32_t>(hal::hbm_bytes() / kShareAlignment);
  const uint64_t share = count == 1 ? hal::hbm_bytes() : units / count * kShareAlignment;
  for (uint32_t i = 0; i < count; i++) {
    Function& function = state.functions[i];
    function.index = i;
    function.hbm_base = i * share;
    function.hbm_bytes = share;
    function.written_end = 0;
    prepare_function(function);
  }
}

bool serve_boot(State& state, Function& function) {
  uint64_t page = 0;
  if (function.state != FunctionState::kPresent || !hal::boot_requested(function.index, &page)) return false;
  state.waypoint = Waypoint::kBoot;
  const weft_error error = boot(state, function, page);
  if (error != WEFT_ERROR_OK) fail(function, error);
  return true;
}

}  // namespace weft::fw
