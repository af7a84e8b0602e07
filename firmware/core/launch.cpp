// The life of a launch. The core is drained, and no segment is mapped, whenever no launch is active: so a launch's
// cycles do not depend on what ran before it.
#include "firmware/core/launch.hpp"

#include "firmware/core/arguments.hpp"
#include "firmware/core/control.hpp"
#include "firmware/core/core.hpp"
#include "firmware/core/core_fault.hpp"
#include "firmware/errors.hpp"
#include "firmware/hal.hpp"
#include "firmware/memory_map.hpp"
#include "firmware/queue/completion.hpp"
#include "firmware/queue/scheduler.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

constexpr uint64_t kCyclesPerBudgetUnit = 1000;
constexpr uint32_t kBlocksAPass = 8;  // of a control list: the other queues wait for them
constexpr uint64_t kAllSemaphores = UINT64_MAX;
/// Those that only the chip's own commands post. The others may be posted for the next block already.
constexpr uint64_t kOwnSemaphores = (UINT64_C(1) << WEFT_REMOTE_SEMAPHORE_FIRST) - 1;

uint64_t budget_deadline(const E& entry, uint64_t from) {
  return entry.budget_kcycles == 0 ? UINT64_MAX : from + entry.budget_kcycles * kCyclesPerBudgetUnit;
}

void unmap_all(Launch& launch) {
  for (uint32_t i = 0; i < WEFT_SEGMENTS; i++) {
    if (((launch.segments >> i) & 1) != 0) core::unmap_segment(i);
  }
  launch.segments = 0;
}

bool has_commands(const weft_program_kernel& kernel) {
  uint32_t any = 0;
#pragma GCC unroll 8
  for (const uint32_t count : kernel.queue_count) any |= count;
  return any != 0;
}

/// Where the host wants the profile: behind the arguments. 0: nowhere.
uint64_t profile_iova(const E& entry, const weft_program_kernel& kernel) {
  return (entry.flags & WEFT_SUBMISSION_FLAG_PROFILE) != 0 ? entry.arg1 + list_bytes(list_entries(kernel)) : 0;
}

weft_launch_profile begin_profile(const Queue& queue) {
  weft_launch_profile profile{};
  profile.doorbell = queue.doorbell_cycle;
  profile.fetched = queue.fetched_cycle;
  return profile;
}

void write_profile(const Queue& queue, uint64_t iova, weft_launch_profile& profile, const Completion& completion) {
  if (iova == 0) return;
  profile.first_command = completion.start_cycle;
  profile.last_write = completion.end_cycle;
  profile.completion = hal::now();
  (void)hal::dma_write(host_at(queue.function, iova), &profile, sizeof profile);
}

/// A kernel without commands ends where it would begin.
void complete_empty(State& state, Queue& queue, const E& entry, const weft_program_kernel& kernel) {
  state.waypoint = Waypoint::kLaunchEnd;
  const uint64_t now = hal::now();
  const Completion completion{WEFT_ERROR_OK, false, now, now};
  if (const uint64_t iova = profile_iova(entry, kernel); iova != 0) {
    weft_launch_profile profile = begin_profile(queue);
    profile.validated = now;
    write_profile(queue, iova, profile, completion);
  }
  complete(state, queue, entry, completion);
  log_event(owner(state, queue), LogLevel::kDebug, WEFT_LOG_EVENT_LAUNCH_ENDED, entry.arg0, WEFT_ERROR_OK);
}

/// Profile, completion, then a clean core for the next launch.
void end_launch(State& state, const Completion& completion) {
  Launch& launch = state.launch;
  Function& function = state.functions[launch.function];
  Queue& queue = function.queues[launch.queue];
  state.waypoint = Waypoint::kLaunchEnd;
  launch.active = false;
  queue.in_flight = false;
  write_profile(queue, launch.profile_iova, launch.profile, completion);
  complete(state, queue, launch.entry, completion);
  unmap_all(launch);
  log_event(function, LogLevel::kDebug, WEFT_LOG_EVENT_LAUNCH_ENDED, launch.program_id, completion.error);
}

/// Of a block; of the core queue's commands `retired` have since the launch began.
QueueProgress progress_of(const Control& control, const StartedBlock& block, uint32_t queue, uint32_t retired) {
  const StartedBlock& newest = control.started[control.newest];
  const uint32_t since = retired > block.before[queue] ? retired - block.before[queue] : 0;
  return {block.first[queue], block.total[queue], since < block.total[queue] ? since : block.total[queue],
          &block == &newest ? 0 : newest.total[queue]};
}

/// The block that a record is about: that of the queue that faulted, else the first of which a queue has commands left.
const StartedBlock& block_of(const Control& control, const core::Fault& fault, const weft_fault_record& record) {
  if (fault.code != 0 && fault.queue < WEFT_CORE_QUEUES)
    return control_block(control, fault.queue, record.queue_retired[fault.queue]);
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    const StartedBlock& block = control_block(control, q, record.queue_retired[q]);
    if (&block != &control.started[control.newest]) return block;
  }
  return control.started[control.newest];
}

/// Where in its control list the launch is, and the counts of the block there.
[[gnu::noinline]] void describe_control(const State& state, const core::Fault& fault, weft_fault_record& record) {
  const Control& control = state.control;
  const StartedBlock& block = block_of(control, fault, record);
  const ControlPlace place = control_place(control, block);
  record.control_entry = static_cast<uint16_t>(place.entry + 1);
  record.control_block = place.block;
  for (uint32_t i = 0; i < WEFT_EXECUTABLE_CONTROL_LOOPS; i++) record.control_turn[i] = place.turn[i];
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    const QueueProgress progress = progress_of(control, block, q, record.queue_retired[q]);
    record.queue_total[q] = progress.total;
    record.queue_pushed[q] = progress.pushed(core::fetch_left(q));
    record.queue_retired[q] = progress.retired;
  }
}

/// Ends the launch with an error: record, completion, core reset. `fault` is all zero if the core reported none.
void fail_launch(State& state, weft_error error, const core::Fault& fault, uint64_t detail0, uint64_t detail1) {
  Launch& launch = state.launch;
  Function& function = state.functions[launch.function];
  weft_fault_record record{};
  record.command_id = launch.entry.command_id;
  record.queue_id = static_cast<uint16_t>(launch.queue);
  record.error = error;
  record.detail0 = detail0;
  record.detail1 = detail1;
  record.program_id = launch.program_id;
  record.kernel = launch.kernel_index;
  core::describe(fault, record);
  if (launch.control) describe_control(state, fault, record);
  for (uint32_t i = 0; i < WEFT_CORE_QUEUES && !launch.control; i++) {
    record.queue_total[i] = launch.queue_total[i];
    record.queue_pushed[i] = launch.queue_total[i] - core::fetch_left(i);
  }
  if (record.fault_cycle == 0) record.fault_cycle = hal::now();
  const uint64_t start = hal::csr_read(WEFT_CSR_FIRST_ACCEPT_CYCLE);
  state.waypoint = Waypoint::kCoreReset;
  const bool clean = core::reset();  // before the completion: nothing may write into the caller's buffers after it
  if (!clean) {
    panic(state, hal::csr_read(WEFT_CSR_STATUS));
  }
  unmap_all(launch);
  const bool more = write_fault_record(function, record);
  if (error_beyond_command(error) || error_class(error) == WEFT_ERROR_CLASS_UNIT) note_error(function, error);
  if (error != WEFT_ERROR_CANCELLED)
    log_event(function, LogLevel::kError, WEFT_LOG_EVENT_CORE_FAULT, fault.code, fault.tag);
  end_launch(state, Completion{error, more, start, record.fault_cycle});
}

/// The fault of the launch's core. A command's address is the function's: HBM as its host counts it.
core::Fault read_fault(const State& state) {
  core::Fault fault = core::read_fault();
  if (fault.code == WEFT_FAULT_COMMAND_FETCH) fault.address -= state.functions[state.launch.function].hbm_base;
  return fault;
}

/// The core has stopped by itself.
void fail_by_core(State& state) {
  const core::Fault fault = read_fault(state);
  fail_launch(state, fault_error(fault.code), fault, 0, 0);
}

/// The core is idle: fails the launch if one of these semaphores is not 0.
bool leaks(State& state, uint64_t semaphores) {
  const uint32_t leak = core::find_leak(semaphores);
  if (leak == WEFT_SEMAPHORES) return false;
  core::Fault fault{};
  fault.code = WEFT_FAULT_SEMAPHORE_LEAK;
  fault.unit = WEFT_UNIT_SYNC;
  fault.queue = WEFT_QUEUE_SYNC;
  fault.address = leak;
  fault.cycle = hal::csr_read(WEFT_CSR_LAST_RETIRE_CYCLE);
  fail_launch(state, fault_error(fault.code), fault, 0, 0);
  return true;
}

/// All commands have retired.
void finish(State& state) {
  Completion completion{WEFT_ERROR_OK, false, hal::csr_read(WEFT_CSR_FIRST_ACCEPT_CYCLE),
                        hal::csr_read(WEFT_CSR_LAST_RETIRE_CYCLE)};
  if (!leaks(state, kAllSemaphores)) end_launch(state, completion);
}

/// No command has retired since the block began, or since the launch was checked, for so long that the watchdog must be
/// dead.
void check_alive(State& state, uint64_t now, uint64_t began) {
  const uint64_t last = hal::csr_read(WEFT_CSR_LAST_RETIRE_CYCLE);
  const uint64_t alive = last > began ? last : began;
  if (now <= alive || now - alive <= kBackstopCycles) return;
  const uint64_t limit = state.functions[state.launch.function].watchdog_cycles;
  if (now - alive - kBackstopCycles > limit)
    fail_launch(state, WEFT_ERROR_DEVICE_HUNG, core::Fault{}, alive, kBackstopCycles + limit);
}

/// The list has ended.
[[gnu::noinline]] void finish_control(State& state) {
  const Control& control = state.control;
  if (control.step == ControlStep::kFailed) {
    const Status why = control.failure;
    return fail_launch(state, why.error, core::Fault{}, why.detail0, why.detail1);
  }
  const uint64_t now = hal::now();
  Completion completion{WEFT_ERROR_OK, false, now, now};  // if no block has run
  if (control.started[control.newest].place.block != kNoBlock) {
    completion.start_cycle = hal::csr_read(WEFT_CSR_FIRST_ACCEPT_CYCLE);
    completion.end_cycle = hal::csr_read(WEFT_CSR_LAST_RETIRE_CYCLE);
  }
  if (!leaks(state, kAllSemaphores)) end_launch(state, completion);
}

/// A launch with a control list: `look`: the core may have fallen idle. A block that is shorter than what the firmware
/// does for the next one has ended by then: looking at once spares a pass and a wake-up.
[[gnu::noinline]] void serve_control(State& state, uint64_t now, bool look) {
  const Control& control = state.control;
  for (uint32_t blocks = 0; blocks < kBlocksAPass; blocks++) {
    bool idle = false;
    if (look && control.running) {
      const uint64_t status = hal::csr_read(WEFT_CSR_STATUS);
      if ((status & WEFT_CSR_STATUS_FAULTED) != 0) return fail_by_core(state);
      idle = (status & WEFT_CSR_STATUS_BUSY) == 0;
      if (idle && control.step == ControlStep::kFollow) control_look_ahead(state);
      if (idle && !control_joins(control) && leaks(state, kOwnSemaphores)) return;
      if (!idle) check_alive(state, now, control.started_cycle);
      if (!state.launch.active) return;
    }
    const uint64_t started = control.started_cycle;
    if (control_service(state, idle)) return finish_control(state);
    if (control.started_cycle == started) return;
    look = true;
  }
}

/// A look at the core: it has stopped, or it is done, or it is dead, or it works on.
void poll_core(State& state, uint64_t now) {
  const uint64_t status = hal::csr_read(WEFT_CSR_STATUS);
  if ((status & WEFT_CSR_STATUS_FAULTED) != 0) return fail_by_core(state);
  if ((status & WEFT_CSR_STATUS_BUSY) == 0) return finish(state);
  check_alive(state, now, state.launch.profile.validated);
}

}  // namespace

Status launch_begin(State& state, Queue& queue, const E& entry) {
  state.waypoint = Waypoint::kLaunchPrepare;
  const uint64_t begin = hal::now();
  Function& function = owner(state, queue);
  Program room;
  Status status = kOk;
  const Program* program = find_program(state, function, entry.arg0, room, status);
  if (program == nullptr) return status;
  if (entry.size >= program->kernel_count) return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), entry.size);
  if (!host_range_valid(entry.arg1, sizeof(weft_launch_list)) || entry.arg1 % 8 != 0) {
    return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg1), entry.arg1);
  }

  const uint32_t kernel_index = static_cast<uint32_t>(entry.size);
  weft_program_kernel kernel;
  const uint64_t kernel_address = program->image_address() + kernel_offset(kernel_index);
  if (!hal::dma_read(hbm_at(kernel_address), &kernel, sizeof kernel)) {
    return Status{WEFT_ERROR_DMA_FAULT, kernel_address - function.hbm_base, sizeof kernel};
  }
  hal::charge(WEFT_MANAGER_SRAM_WORD * sizeof kernel / 4);
  status = check_program_kernel(kernel, kernel_index, program->commands);
  if (!status.ok()) return status;
  const bool control = kernel.control_bytes != 0;
  if (control) {
    status = check_control_place(kernel, kernel_index, program->image_bytes());
    if (status.ok()) status = control_prepare(state, function, *program, kernel, kernel_index, entry.arg1);
    if (!status.ok()) return status;
  } else if (list_entries(kernel) != 0) {
    status = read_arguments(function, entry.arg1, kernel, state.scratch);
    if (!status.ok()) return status;
  }
  if (!control && !has_commands(kernel)) {
    complete_empty(state, queue, entry, kernel);
    return kOk;
  }

  Launch& launch = state.launch;
  launch.function = queue.function;
  launch.queue = queue.id;
  launch.entry = entry;
  launch.program_id = static_cast<uint32_t>(entry.arg0);
  launch.kernel_index = kernel_index;
  launch.profile_iova = profile_iova(entry, kernel);
  launch.profile = begin_profile(queue);
  launch.control = control;
  if (control && entry.budget_kcycles == 0) launch.entry.budget_kcycles = WEFT_EXECUTABLE_CONTROL_BUDGET_KCYCLES;
  launch.deadline_cycle = budget_deadline(launch.entry, begin);
  for (uint32_t i = 0; i < WEFT_CORE_QUEUES; i++) launch.queue_total[i] = kernel.queue_count[i];

  state.waypoint = Waypoint::kCoreReset;
  if (!core::reset()) {
    const uint64_t core_status = hal::csr_read(WEFT_CSR_STATUS);
    panic(state, core_status);
    return Status{WEFT_ERROR_DEVICE_HUNG, static_cast<uint64_t>(Waypoint::kCoreReset), core_status};
  }
  if (state.core_function != function.index) {
    state.core_function = function.index;
    hal::core_function(function.index);
  }
  launch.segments =
      control ? control_map(function, state.control) : map_arguments(function, *program, kernel, state.scratch);
  hal::csr_write(WEFT_CSR_WATCHDOG_LIMIT, function.watchdog_cycles);
  launch.profile.validated = hal::now();
  for (uint32_t i = 0; i < WEFT_CORE_QUEUES; i++) {
    const uint64_t first = uint64_t{kernel.queue_first[i]} * WEFT_COMMAND_BYTES;
    if (kernel.queue_count[i] != 0) core::start_fetch(i, program->commands_address() + first, kernel.queue_count[i]);
  }
  launch.active = true;
  queue.in_flight = true;
  launch.poll_cycle = hal::now() + kPollCycles;
  log_event(function, LogLevel::kDebug, WEFT_LOG_EVENT_LAUNCH_STARTED, launch.program_id, kernel_index);
  return kOk;
}

bool launch_of(const State& state, const Queue& queue) {
  return state.launch.active && state.launch.function == queue.function && state.launch.queue == queue.id;
}

void launch_drop(State& state) {
  Launch& launch = state.launch;
  state.waypoint = Waypoint::kCoreReset;
  launch.active = false;
  if (!core::reset()) panic(state, hal::csr_read(WEFT_CSR_STATUS));
  unmap_all(launch);
}

void launch_service(State& state) {
  Launch& launch = state.launch;
  if (!launch.active) return;
  state.waypoint = Waypoint::kLaunchRun;
  const uint64_t interrupts = core::take_interrupts();
  if ((interrupts & WEFT_CSR_INTERRUPT_FAULT) != 0) return fail_by_core(state);
  const uint64_t now = hal::now();
  if (now >= launch.deadline_cycle) {
    return fail_launch(state, WEFT_ERROR_BUDGET_EXCEEDED, core::Fault{},
                       launch.entry.budget_kcycles * kCyclesPerBudgetUnit, now - launch.deadline_cycle);
  }
  const bool poll = now >= launch.poll_cycle;
  if (poll) launch.poll_cycle = now + kPollCycles;
  const bool look = poll || (interrupts & (WEFT_CSR_INTERRUPT_IDLE | WEFT_CSR_INTERRUPT_VERSION)) != 0;
  if (launch.control) return serve_control(state, now, look);
  if (look) poll_core(state, now);
}

weft_error launch_reset(State& state) {
  const core::Fault fault = read_fault(state);
  weft_error error = fault.code != 0 ? fault_error(fault.code) : WEFT_ERROR_ABORTED_BY_RESET;
  if (fault.code == 0) {
    const uint64_t retired = hal::csr_read(WEFT_CSR_LAST_RETIRE_CYCLE);
    const uint64_t validated = state.launch.profile.validated;
    const uint64_t idle = hal::now() - (retired > validated ? retired : validated);
    const bool stuck = (hal::csr_read(WEFT_CSR_STATUS) & WEFT_CSR_STATUS_BUSY) != 0 &&
                       idle > state.functions[state.launch.function].watchdog_cycles;
    if (stuck) error = WEFT_ERROR_DEVICE_HUNG;
  }
  fail_launch(state, error, fault, 0, 0);
  return error;
}

void launch_cancel(State& state) { fail_launch(state, WEFT_ERROR_CANCELLED, core::Fault{}, 0, 0); }

void launch_limit_hold(State& state) {
  Launch& launch = state.launch;
  if (!launch.active) return;
  const uint64_t limit = hal::now() + uint64_t{WEFT_CORE_MAX_HOLD_KCYCLES} * kCyclesPerBudgetUnit;
  if (launch.deadline_cycle <= limit || !core_waited_for_by_others(state)) return;
  launch.deadline_cycle = limit;
  launch.entry.budget_kcycles = WEFT_CORE_MAX_HOLD_KCYCLES;
}

QueueProgress launch_progress(const State& state, uint32_t queue) {
  const auto retired =
      static_cast<uint32_t>(hal::csr_read(WEFT_CSR_QUEUE_RETIRED + queue * WEFT_CSR_QUEUE_RETIRED_STRIDE));
  if (!state.launch.control) return {0, state.launch.queue_total[queue], retired, 0};
  return progress_of(state.control, control_block(state.control, queue, retired), queue, retired);
}

uint64_t launch_wake_cycle(const State& state) {
  const Launch& launch = state.launch;
  if (!launch.active) return UINT64_MAX;
  if (launch.control && control_wants_pass(state.control)) return 0;
  return launch.deadline_cycle < launch.poll_cycle ? launch.deadline_cycle : launch.poll_cycle;
}

}  // namespace weft::fw
