/// Brings a kernel's commands from HBM into the core's queues, each queue on its own.
///
/// Every queue has a buffer of two batches in SRAM: while one batch is pushed, the other is there or being read, so the
/// core does not see HBM's latency. One read brings up to 64 commands, because its cost is latency (about 700 core
/// cycles) and not bytes; a full queue of 16 lasts longer than a read as long as commands take 45 cycles or more.
#pragma once
#include <stdint.h>

#include "weft/spec/spec.h"

namespace weft::fw {

inline constexpr uint32_t kBatchCommands = 64;                    ///< commands of one read: 4096 bytes
inline constexpr uint32_t kBufferCommands = 2 * kBatchCommands;   ///< a queue's buffer in SRAM
inline constexpr uint32_t kQueueLow = WEFT_CORE_QUEUE_DEPTH / 2;  ///< level at which the core asks for more

/// One core queue's way from HBM. Buffer indices run freely.
struct QueueStream {
  uint64_t next_address;  ///< HBM address of the first command not yet read
  uint32_t unread;        ///< commands still in HBM only
  uint32_t read_index;    ///< buffer: next to push
  uint32_t write_index;   ///< buffer: next free
  uint32_t source;        ///< which queue's buffer holds them (a small kernel shares the first one)
  uint32_t pushed;
  uint32_t total;
};

struct Stream {
  QueueStream queue[WEFT_CORE_QUEUES];
  uint64_t posted;         ///< bit s: a pushed command posts semaphore s
  uint64_t fault_address;  ///< HBM address of a read that failed
  alignas(8) uint8_t buffer[WEFT_CORE_QUEUES][kBufferCommands][WEFT_COMMAND_BYTES];
};

enum class Refill : uint8_t {
  kFull,      ///< every queue is full or has all its commands; the core will ask
  kMore,      ///< the bound of one call is reached: call again without sleeping
  kBusError,  ///< HBM did not answer, `fault_address`
};

/// Sets up all ranges of `kernel` and reads the first batch of each queue, all of them before the first push.
/// False: bus error.
bool stream_begin(Stream& stream, const weft_program_kernel& kernel, uint64_t commands_address);

/// Pushes what fits into every queue and reads ahead. Bounded: a few rounds over the queues, one read a round.
Refill stream_refill(Stream& stream);

/// All commands are in the core.
bool stream_exhausted(const Stream& stream);

}  // namespace weft::fw
