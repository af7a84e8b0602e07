// Refilling the core's queues. A push that finds its queue full costs one burst, less than reading the level: so levels
// are never read.
#include "firmware/core/streaming.hpp"

#include "firmware/core/core.hpp"
#include "firmware/hal.hpp"

namespace weft::fw {
namespace {

constexpr uint32_t kRounds = 8;  ///< rounds over the queues a call
/// Pushes into a queue a round. The first two feed the MXU; a bound on the others keeps a round shorter than their
/// queues last.
constexpr uint32_t kVisit[WEFT_CORE_QUEUES] = {WEFT_CORE_QUEUE_DEPTH, WEFT_CORE_QUEUE_DEPTH, 4, 4, 4};
constexpr uint32_t kBusyRound = 8;  ///< pushes in a round after which another one is worth it
constexpr uint32_t kNone = WEFT_CORE_QUEUES;

uint32_t buffered(const QueueStream& q) { return q.write_index - q.read_index; }

/// Reads the next batch of queue `index` behind what its buffer holds.
bool read_batch(Stream& stream, uint32_t index) {
  QueueStream& q = stream.queue[index];
  const uint32_t count = q.unread < kBatchCommands ? q.unread : kBatchCommands;
  uint8_t* to = stream.buffer[index][q.write_index % kBufferCommands];
  if (!hal::dma_read(hbm_at(q.next_address), to, count * WEFT_COMMAND_BYTES)) {
    stream.fault_address = q.next_address;
    return false;
  }
  q.next_address += uint64_t{count} * WEFT_COMMAND_BYTES;
  q.unread -= count;
  q.write_index += count;
  return true;
}

/// A kernel whose ranges together span no more than one batch: one read for all queues. kOk with `done` false: it is
/// larger.
bool read_small_kernel(Stream& stream, const weft_program_kernel& kernel, uint64_t commands_address, bool* done) {
  uint32_t first = UINT32_MAX;
  uint32_t end = 0;
  for (uint32_t i = 0; i < WEFT_CORE_QUEUES; i++) {
    if (kernel.queue_count[i] == 0) continue;
    if (kernel.queue_first[i] < first) first = kernel.queue_first[i];
    if (kernel.queue_first[i] + kernel.queue_count[i] > end) end = kernel.queue_first[i] + kernel.queue_count[i];
  }
  *done = false;
  if (end <= first || end - first > kBatchCommands) return true;
  const uint64_t address = commands_address + uint64_t{first} * WEFT_COMMAND_BYTES;
  if (!hal::dma_read(hbm_at(address), stream.buffer[0], (end - first) * WEFT_COMMAND_BYTES)) {
    stream.fault_address = address;
    return false;
  }
  for (uint32_t i = 0; i < WEFT_CORE_QUEUES; i++) {
    QueueStream& q = stream.queue[i];
    if (q.total == 0) continue;
    q.source = 0;
    q.read_index = kernel.queue_first[i] - first;
    q.write_index = q.read_index + q.total;
    q.unread = 0;
  }
  *done = true;
  return true;
}

/// Pushes up to `limit` commands. Returns how many; `full`: the queue took no more.
uint32_t push_some(Stream& stream, uint32_t index, uint32_t limit, bool* full) {
  QueueStream& q = stream.queue[index];
  uint32_t count = 0;
  *full = false;
  while (count < limit && q.read_index != q.write_index) {
    const uint8_t* command = stream.buffer[q.source][q.read_index % kBufferCommands];
    if (!hal::push_command(index, command)) {
      *full = true;
      break;
    }
    hal::charge(WEFT_MANAGER_SRAM_WORD);
    stream.posted |= core::posted_by(command);
    q.read_index++;
    q.pushed++;
    count++;
  }
  return count;
}

/// The queue with the fewest buffered commands among those with room for a batch and commands left in HBM.
uint32_t thirstiest(const Stream& stream) {
  uint32_t best = kNone;
  for (uint32_t i = 0; i < WEFT_CORE_QUEUES; i++) {
    const QueueStream& q = stream.queue[i];
    if (q.unread == 0 || buffered(q) > kBufferCommands - kBatchCommands) continue;
    if (best == kNone || buffered(q) < buffered(stream.queue[best])) best = i;
  }
  return best;
}

}  // namespace

bool stream_begin(Stream& stream, const weft_program_kernel& kernel, uint64_t commands_address) {
  stream.posted = 0;
  stream.fault_address = 0;
  for (uint32_t i = 0; i < WEFT_CORE_QUEUES; i++) {
    QueueStream& q = stream.queue[i];
    q.next_address = commands_address + uint64_t{kernel.queue_first[i]} * WEFT_COMMAND_BYTES;
    q.unread = kernel.queue_count[i];
    q.read_index = 0;
    q.write_index = 0;
    q.source = i;
    q.pushed = 0;
    q.total = kernel.queue_count[i];
  }
  bool done = false;
  if (!read_small_kernel(stream, kernel, commands_address, &done)) return false;
  if (done) return true;
  for (uint32_t i = 0; i < WEFT_CORE_QUEUES; i++) {
    if (stream.queue[i].unread != 0 && !read_batch(stream, i)) return false;
  }
  return true;
}

Refill stream_refill(Stream& stream) {
  for (uint32_t round = 0; round < kRounds; round++) {
    uint32_t pushed = 0;
    bool cut_short = false;
    for (uint32_t i = 0; i < WEFT_CORE_QUEUES; i++) {
      bool full = false;
      pushed += push_some(stream, i, kVisit[i], &full);
      cut_short |= !full && buffered(stream.queue[i]) != 0;
    }
    const bool quiet = !cut_short && pushed < kBusyRound;
    const uint32_t next = thirstiest(stream);
    if (next == kNone) {
      if (quiet) return Refill::kFull;
    } else if (quiet || buffered(stream.queue[next]) < WEFT_CORE_QUEUE_DEPTH) {
      // A read takes as long as several commands: only once the queues are full, or when the buffer runs out.
      if (!read_batch(stream, next)) return Refill::kBusError;
    }
  }
  return Refill::kMore;
}

bool stream_exhausted(const Stream& stream) {
  for (const QueueStream& q : stream.queue) {
    if (q.pushed != q.total) return false;
  }
  return true;
}

}  // namespace weft::fw
