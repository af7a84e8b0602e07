// The state page, table by table, each record built on the stack and written at once.
#include "firmware/admin/state_dump.hpp"

#include "firmware/core/core.hpp"
#include "firmware/hal.hpp"
#include "firmware/memory_map.hpp"
#include "firmware/queue/ring.hpp"
#include "firmware/queue/submission.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

constexpr uint32_t kPageAlignment = 64;
constexpr uint32_t kEngines = 2;
constexpr uint32_t kSections = 5;

constexpr uint32_t kQueuesAt = sizeof(weft_state_header);
constexpr uint32_t kEnginesAt = kQueuesAt + kQueues * sizeof(weft_state_queue);
constexpr uint32_t kCoreQueuesAt = kEnginesAt + kEngines * sizeof(weft_state_engine);
constexpr uint32_t kSemaphoresAt = kCoreQueuesAt + WEFT_CORE_QUEUES * sizeof(weft_state_core_queue);
constexpr uint32_t kTimelinesAt = kSemaphoresAt + sizeof(weft_state_semaphores);
constexpr uint32_t kPageBytes = kTimelinesAt + WEFT_LIMIT_TIMELINES * sizeof(weft_state_timeline);
static_assert(kPageBytes <= WEFT_LIMIT_STATE_PAGE_BYTES);

/// Commands after the last retired one whose posts are told, and how many of them one read brings.
constexpr uint32_t kPostWindow = 128;
constexpr uint32_t kPostRead = kScratchBytes / WEFT_COMMAND_BYTES;
constexpr uint32_t kManyRunning = 255;

/// Where the page goes; the first error stays.
struct Writer {
  const Function& function;
  uint64_t iova;
  Status status;

  void put(uint32_t offset, const void* data, uint32_t bytes) {
    if (status.ok() && !hal::dma_write(host_at(function.index, iova + offset), data, bytes))
      status = Status{WEFT_ERROR_DMA_FAULT, iova + offset, bytes};
  }
};

/// The core, or the copy engine, works for this function.
bool launches(const State& state, const Function& function) {
  return state.launch.active && state.launch.function == function.index;
}
bool copies(const State& state, const Function& function) {
  return state.copy.active && state.copy.function == function.index;
}

/// The oldest entry that was fetched and has not ended; nullptr: none.
const E* oldest_entry(const State& state, const Queue& queue) {
  const Function& function = state.functions[queue.function];
  if (queue.in_flight && launches(state, function) && state.launch.queue == queue.id) return &state.launch.entry;
  if (queue.in_flight && copies(state, function) && state.copy.queue == queue.id) return &state.copy.entry;
  return queue.batch_next != queue.batch_count ? &next_entry(state, queue) : nullptr;
}

weft_queue_wait waits_for(const State& state, const Queue& queue) {
  const Function& function = state.functions[queue.function];
  if (queue.state == QueueState::kHalted) return WEFT_QUEUE_WAIT_HALTED;
  if (queue.in_flight) return WEFT_QUEUE_WAIT_RUNNING;
  if (!has_entry(queue)) return WEFT_QUEUE_WAIT_NOTHING;
  if (queue.waits) return WEFT_QUEUE_WAIT_SEMAPHORE;
  if (completion_ring_full(function, function.rings[queue.completion_ring])) return WEFT_QUEUE_WAIT_COMPLETION_ROOM;
  if (queue.batch_next == queue.batch_count) return WEFT_QUEUE_WAIT_FETCH;
  if (queue.ticket == 0) return WEFT_QUEUE_WAIT_TURN;
  return next_entry(state, queue).opcode == WEFT_QUEUE_OPCODE_LAUNCH ? WEFT_QUEUE_WAIT_CORE : WEFT_QUEUE_WAIT_COPY;
}

weft_queue_state page_state(QueueState state) {
  switch (state) {
    case QueueState::kFree:
      return WEFT_QUEUE_STATE_DELETED;
    case QueueState::kActive:
      return WEFT_QUEUE_STATE_ACTIVE;
    case QueueState::kHalted:
      return WEFT_QUEUE_STATE_HALTED;
    case QueueState::kQuiescing:
      return WEFT_QUEUE_STATE_QUIESCING;
  }
  return WEFT_QUEUE_STATE_DELETED;
}

void put_queue(const State& state, Writer& out, uint32_t id) {
  const Queue& queue = out.function.queues[id];
  weft_state_queue record{};
  record.queue = static_cast<uint16_t>(id);
  record.state = static_cast<uint8_t>(page_state(queue.state));
  if (queue.state != QueueState::kFree) {
    record.priority = queue.priority;
    record.wait = static_cast<uint8_t>(waits_for(state, queue));
    const CompletionRing& ring = out.function.rings[queue.completion_ring];
    record.entries = queue.entries;
    record.completion_entries = ring.entries;
    record.head = queue.head;
    record.tail = queue.tail;
    record.doorbell = hal::doorbell_submission(queue.function, id);
    record.completion_head = ring.head();
    record.completion_tail = ring.tail;
    record.completion_ring = ring.id;
    record.fetched_cycle = queue.fetched_cycle;
    record.fetched = static_cast<uint32_t>(queue.batch_count - queue.batch_next + (queue.in_flight ? 1 : 0));
    if (const E* entry = oldest_entry(state, queue); entry != nullptr) {
      record.command_id = entry->command_id;
      record.opcode = entry->opcode;
      record.tag = entry->tag;
      record.wait_id = entry->wait_id;
      record.signal_id = entry->signal_id;
      record.wait_value = entry->wait_value;
      record.signal_value = entry->signal_value;
    }
  }
  out.put(kQueuesAt + id * static_cast<uint32_t>(sizeof record), &record, sizeof record);
}

void name_command(weft_state_engine& record, uint32_t queue, const E& entry) {
  record.active = 1;
  record.queue = static_cast<uint16_t>(queue);
  record.command_id = entry.command_id;
  record.opcode = entry.opcode;
  record.tag = entry.tag;
}

void put_core_engine(const State& state, Writer& out) {
  const Launch& launch = state.launch;
  weft_state_engine record{};
  record.engine = WEFT_ENGINE_CORE;
  record.active = launch.active ? 1 : 0;
  if (launches(state, out.function)) {
    name_command(record, launch.queue, launch.entry);
    record.program_id = launch.program_id;
    record.kernel = launch.kernel_index;
    record.start_cycle = launch.profile.validated;
    record.deadline_cycle = launch.deadline_cycle;
    const uint64_t retire = hal::csr_read(WEFT_CSR_LAST_RETIRE_CYCLE);
    record.progress_cycle = retire > launch.profile.validated ? retire : launch.profile.validated;
    const StartedBlock* block = &state.control.started[state.control.newest];
    for (uint32_t i = WEFT_CORE_QUEUES; i-- > 0;) {
      const QueueProgress progress = launch_progress(state, i);
      record.remaining += progress.total - progress.retired + progress.beyond;
      if (launch.control && progress.beyond != 0) block = &state.control.started[state.control.newest ^ 1];
    }
    if (launch.control) {
      const ControlPlace place = control_place(state.control, *block);
      record.control_entry = static_cast<uint16_t>(place.entry + 1);
      record.control_block = place.block;
      for (uint32_t i = 0; i < WEFT_EXECUTABLE_CONTROL_LOOPS; i++) record.control_turn[i] = place.turn[i];
    }
  }
  out.put(kEnginesAt, &record, sizeof record);
}

uint64_t tagged(const Function& function, Location where) {
  const uint64_t address = address_of(function, where);
  return where.space == WEFT_ADDRESS_SPACE_HBM ? address | kHbmAddressBit : address;
}

void put_copy_engine(const State& state, Writer& out) {
  const CopyJob& job = state.copy;
  weft_state_engine record{};
  record.engine = WEFT_ENGINE_COPY;
  record.lost = job.engine_lost ? 1 : 0;
  record.active = job.active ? 1 : 0;
  if (copies(state, out.function)) {
    name_command(record, job.queue, job.entry);
    record.start_cycle = job.start_cycle;
    record.progress_cycle = job.piece_cycle - kCopyPieceCycles;
    record.deadline_cycle = job.deadline_cycle;
    record.remaining = job.remaining_bytes;
    record.source = tagged(out.function, job.source);
    record.destination = tagged(out.function, job.destination);
  }
  out.put(kEnginesAt + sizeof record, &record, sizeof record);
}

/// The kernel of the launch, and where its program's commands begin.
struct LaunchedKernel {
  weft_program_kernel kernel;
  uint64_t commands_address;  ///< 0: not to be had

  /// HBM address of the first command of core queue `index`, or of its block there; 0: not to be had.
  uint64_t first_command(uint32_t index, const QueueProgress& progress) const {
    const uint32_t first = kernel.control_bytes != 0 ? progress.first : kernel.queue_first[index];
    return commands_address == 0 ? 0 : commands_address + uint64_t{first} * WEFT_COMMAND_BYTES;
  }
};

/// Reads the launch's kernel entry again. Not to be had: no launch, or the host has written over the image.
void read_kernel(const State& state, const Function& function, LaunchedKernel* launched) {
  launched->commands_address = 0;
  if (!launches(state, function)) return;
  Program room;
  Status status = kOk;
  const Program* program = find_program(state, function, state.launch.program_id, room, status);
  if (program == nullptr) return;
  const uint64_t address = program->image_address() + kernel_offset(state.launch.kernel_index);
  if (hal::dma_read(hbm_at(address), &launched->kernel, sizeof launched->kernel) &&
      check_program_kernel(launched->kernel, state.launch.kernel_index, program->commands).ok())
    launched->commands_address = program->commands_address();
}

/// Semaphores that the commands from `first` on post. Uses state.scratch.
uint64_t read_posts(State& state, uint64_t base, uint32_t first, uint32_t end) {
  uint64_t posts = 0;
  if (end - first > kPostWindow) end = first + kPostWindow;
  while (first < end) {
    const uint32_t count = end - first < kPostRead ? end - first : kPostRead;
    if (!hal::dma_read(hbm_at(base + uint64_t{first} * WEFT_COMMAND_BYTES), state.scratch, count * WEFT_COMMAND_BYTES))
      return posts;
    for (uint32_t i = 0; i < count; i++) posts |= core::posted_by(state.scratch + i * WEFT_COMMAND_BYTES);
    first += count;
  }
  return posts;
}

/// What the core's queues and semaphores show is this function's, or nobody's.
bool core_visible(const State& state, const Function& function) {
  return !state.launch.active || launches(state, function);
}

void put_core_queue(State& state, Writer& out, uint32_t index, const LaunchedKernel& launched) {
  weft_state_core_queue record{};
  const auto put_record = [&] {
    out.put(kCoreQueuesAt + index * static_cast<uint32_t>(sizeof record), &record, sizeof record);
  };
  record.queue = static_cast<uint16_t>(index);
  if (!core_visible(state, out.function)) return put_record();
  // In the order of a command's way, backwards: the core goes on meanwhile, and what has retired has been pushed.
  const bool mine = launches(state, out.function);
  const QueueProgress progress = mine ? launch_progress(state, index) : QueueProgress{};
  record.retired =
      mine ? progress.retired
           : static_cast<uint32_t>(hal::csr_read(WEFT_CSR_QUEUE_RETIRED + index * WEFT_CSR_QUEUE_RETIRED_STRIDE));
  record.level = static_cast<uint32_t>(hal::csr_read(WEFT_CSR_QUEUE_LEVEL + index * WEFT_CSR_QUEUE_LEVEL_STRIDE));
  record.head_tag =
      static_cast<uint32_t>(hal::csr_read(WEFT_CSR_QUEUE_HEAD_TAG + index * WEFT_CSR_QUEUE_HEAD_TAG_STRIDE));
  if (mine) {
    record.total = progress.total;
    record.pushed = progress.pushed(core::fetch_left(index));
    const uint32_t taken = record.pushed - record.level;
    const uint32_t running = taken - record.retired;
    record.running = static_cast<uint8_t>(running < kManyRunning ? running : kManyRunning);
    const uint64_t base = launched.first_command(index, progress);
    if (base != 0 && taken < record.total && record.retired <= taken) {
      record.head_valid = record.level != 0 && hal::dma_read(hbm_at(base + uint64_t{taken} * WEFT_COMMAND_BYTES),
                                                             record.head, WEFT_COMMAND_BYTES);
    }
    if (base != 0 && record.retired <= record.total)
      record.posts = read_posts(state, base, record.retired, record.total);
  }
  put_record();
}

void put_semaphores(const State& state, Writer& out) {
  weft_state_semaphores record{};
  for (uint32_t i = 0; i < WEFT_SEMAPHORES && core_visible(state, out.function); i++)
    record.value[i] = static_cast<uint16_t>(hal::csr_read(WEFT_CSR_SEMAPHORE + i * WEFT_CSR_SEMAPHORE_STRIDE));
  out.put(kSemaphoresAt, &record, sizeof record);
}

/// Those that exist. Returns how many.
uint16_t put_timelines(Writer& out) {
  uint16_t count = 0;
  for (uint32_t id = 1; id <= WEFT_LIMIT_TIMELINES; id++) {
    const Timeline& timeline = out.function.timeline(id);
    if (!timeline.created()) continue;
    weft_state_timeline record{};
    record.semaphore = static_cast<uint16_t>(id);
    record.value = timeline.value();
    out.put(kTimelinesAt + count * static_cast<uint32_t>(sizeof record), &record, sizeof record);
    count++;
  }
  return count;
}

void put_header(const State& state, Writer& out, uint16_t timelines) {
  weft_state_header header{};
  header.magic = WEFT_LIMIT_STATE_MAGIC;
  header.version = WEFT_LIMIT_STATE_VERSION;
  header.sections = kSections;
  header.bytes = kPageBytes;
  constexpr uint32_t kOffset[kSections] = {kQueuesAt, kEnginesAt, kCoreQueuesAt, kSemaphoresAt, kTimelinesAt};
  const uint16_t count[kSections] = {kQueues, kEngines, WEFT_CORE_QUEUES, 1, timelines};
  constexpr uint16_t kBytes[kSections] = {sizeof(weft_state_queue), sizeof(weft_state_engine),
                                          sizeof(weft_state_core_queue), sizeof(weft_state_semaphores),
                                          sizeof(weft_state_timeline)};
  for (uint32_t i = 0; i < kSections; i++) {
    header.section_offset[i] = kOffset[i];
    header.section_count[i] = count[i];
    header.section_record_bytes[i] = kBytes[i];
  }
  header.core_status = static_cast<uint32_t>(hal::csr_read(WEFT_CSR_STATUS));
  header.cycle = hal::now();
  header.heartbeat = state.passes;
  header.progress = out.function.completed;
  header.watchdog_cycles = out.function.watchdog_cycles;
  header.last_retire_cycle = hal::csr_read(WEFT_CSR_LAST_RETIRE_CYCLE);
  header.fault_word = hal::csr_read(WEFT_CSR_FAULT_CODE);
  header.log_sequence = out.function.log.sequence;
  header.fault_records = static_cast<uint32_t>(out.function.faults.written);
  constexpr uint32_t kFirst = 8;  // magic and version, written last
  out.put(kFirst, reinterpret_cast<const uint8_t*>(&header) + kFirst, sizeof header - kFirst);
  out.put(0, &header, kFirst);
}

}  // namespace

uint32_t state_page_bytes() { return kPageBytes; }

Status dump_state(State& state, const Function& function, const E& e) {
  if (e.arg0 % kPageAlignment != 0 || !host_range_valid(e.arg0, kPageBytes))
    return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), e.arg0);
  if (e.size < kPageBytes) return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), e.size);
  state.waypoint = Waypoint::kStateDump;
  Writer out{function, e.arg0, kOk};
  for (uint32_t id = 0; id < kQueues; id++) put_queue(state, out, id);
  put_core_engine(state, out);
  put_copy_engine(state, out);
  LaunchedKernel launched;
  read_kernel(state, function, &launched);
  for (uint32_t i = 0; i < WEFT_CORE_QUEUES; i++) put_core_queue(state, out, i, launched);
  put_semaphores(state, out);
  put_header(state, out, put_timelines(out));
  return out.status;
}

}  // namespace weft::fw
