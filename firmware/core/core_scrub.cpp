// Commands of the core's own: a fill of all of VMEM with zeros, then a product of zeros into each bank of each ACC.
// All of VMEM, because nothing but the program itself says how much of it a program touched.
#include "firmware/core/core_scrub.hpp"

#include "firmware/core/core.hpp"
#include "firmware/hal.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

constexpr uint32_t kFilled = 0;  ///< semaphore: VMEM is clear
constexpr uint32_t kAccBanks = 2;
/// The slowest core fills a granule a cycle; twice that, and the products.
constexpr uint64_t kCyclesPerGranule = 2;
constexpr uint64_t kProductCycles = 100'000;

using Command = uint8_t[WEFT_COMMAND_BYTES];

void put(Command& command, uint32_t offset, uint32_t bytes, uint64_t value) {
  for (uint32_t i = 0; i < bytes; i++, value >>= 8) command[offset + i] = static_cast<uint8_t>(value);
}

void put_header(Command& command, uint32_t opcode) {
  __builtin_memset(command, 0, sizeof command);
  put(command, WEFT_COMMAND_OPCODE, 1, opcode);
  put(command, WEFT_COMMAND_WAIT_SEM0, 4, UINT32_MAX);  // no semaphore, four times
}

bool push_fill(const hal::CoreShape& shape) {
  Command command;
  put_header(command, WEFT_OPCODE_FILL);
  put(command, WEFT_COMMAND_POST_SEM0, 1, kFilled);
  put(command, WEFT_COMMAND_POST_COUNT0, 2, shape.mxus * kAccBanks);
  put(command, WEFT_COMMAND_DMA_SIZE0, 4, shape.vmem_bytes);
  put(command, WEFT_COMMAND_DMA_SIZE1, 2, 1);
  put(command, WEFT_COMMAND_DMA_SIZE2, 2, 1);
  put(command, WEFT_COMMAND_DMA_SIZE3, 2, 1);
  return hal::push_command(WEFT_QUEUE_DMA_IN, command);
}

bool push_product(const hal::CoreShape& shape, uint32_t mxu, uint32_t bank) {
  Command command;
  put_header(command, WEFT_OPCODE_MATMUL);
  put(command, WEFT_COMMAND_WAIT_SEM0, 1, kFilled);
  put(command, WEFT_COMMAND_WAIT_COUNT0, 2, 1);
  put(command, WEFT_COMMAND_MXU_X_ROW_STRIDE, 4, 1);
  put(command, WEFT_COMMAND_MXU_X_TILE_STRIDE, 4, 1);
  put(command, WEFT_COMMAND_MXU_W_TILE_STRIDE, 4, 1);
  put(command, WEFT_COMMAND_MXU_K, 4, shape.n);
  put(command, WEFT_COMMAND_MXU_M, 2, shape.acc_bank_rows);
  put(command, WEFT_COMMAND_MXU_COLS, 2, shape.n);
  put(command, WEFT_COMMAND_MXU_ACC_ROW, 2, bank * shape.acc_bank_rows);
  put(command, WEFT_COMMAND_MXU_SEED, 1, WEFT_MXU_SEED_ZERO);
  put(command, WEFT_COMMAND_MXU_DTYPE, 1, WEFT_MXU_DTYPE_BF16);
  put(command, WEFT_COMMAND_MXU_MXU, 1, mxu);
  return hal::push_command(WEFT_QUEUE_MXU, command);
}

void fail(State& state) {
  state.core_tenant.scrubbing = false;
  panic(state, hal::csr_read(WEFT_CSR_STATUS));
}

void begin(State& state) {
  state.waypoint = Waypoint::kCoreScrub;
  const hal::CoreShape shape = hal::core_shape();
  if (!core::reset()) return fail(state);
  hal::csr_write(WEFT_CSR_WATCHDOG_LIMIT, WEFT_CORE_WATCHDOG_DEFAULT_CYCLES);
  hal::csr_write(WEFT_CSR_INTERRUPT, core::kInterruptAll);
  bool pushed = push_fill(shape);
  for (uint32_t i = 0; i < shape.mxus * kAccBanks; i++)
    pushed = pushed && push_product(shape, i / kAccBanks, i % kAccBanks);
  if (!pushed) return fail(state);
  state.core_tenant.scrubbing = true;
  state.core_tenant.deadline_cycle =
      hal::now() + shape.vmem_bytes / WEFT_CORE_DMA_GRANULE_BYTES * kCyclesPerGranule + kProductCycles;
}

}  // namespace

bool core_clean_for(State& state, uint32_t function) {
  CoreTenant& core = state.core_tenant;
  if (core.scrubbing) return false;
  // Without a branch between the two: the first launch of all takes the cycles of those after it.
  static_assert(kTenantNone == 0);
  if (core.tenant * (core.tenant ^ (function + 1)) == 0) {  // none, or this one
    core.tenant = function + 1;
    return true;
  }
  begin(state);
  return false;
}

void core_tenant_left(State& state, uint32_t function) {
  if (state.core_tenant.tenant == function + 1) state.core_tenant.tenant = kTenantGone;
}

void core_scrub_cancel(State& state) {
  if (!state.core_tenant.scrubbing) return;
  state.core_tenant.scrubbing = false;
  state.core_tenant.tenant = kTenantGone;
}

void core_scrub_service(State& state) {
  if (!state.core_tenant.scrubbing) return;
  state.waypoint = Waypoint::kCoreScrub;
  (void)core::take_interrupts();
  const uint64_t status = hal::csr_read(WEFT_CSR_STATUS);
  if ((status & WEFT_CSR_STATUS_FAULTED) != 0) return fail(state);
  if ((status & WEFT_CSR_STATUS_BUSY) != 0) {
    if (hal::now() >= state.core_tenant.deadline_cycle) fail(state);
    return;
  }
  state.core_tenant.scrubbing = false;
  state.core_tenant.tenant = kTenantNone;
}

uint64_t core_scrub_wake_cycle(const State& state) {
  return state.core_tenant.scrubbing ? state.core_tenant.deadline_cycle : UINT64_MAX;
}

}  // namespace weft::fw
