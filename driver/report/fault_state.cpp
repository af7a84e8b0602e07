// From a record and a program to the tables of a state page.
#include "driver/report/fault_state.hpp"

#include <algorithm>
#include <cstring>

namespace weft::driver {
namespace {

constexpr size_t kPostSemaphores[] = {6, 7};  // byte offsets in a command's header (spec/commands.toml)
constexpr uint32_t kManyRunning = 255;

/// The commands of one queue of the record's kernel; empty: not known, or not what the record says.
std::span<const std::byte> commands_of(const weft_fault_record& r, const ProgramText& program, uint32_t queue) {
  if (r.kernel >= program.kernels.size()) return {};
  const ExecutableKernel& kernel = program.kernels[r.kernel];
  uint32_t begin = kernel.queue_first[queue], count = kernel.queue_count[queue];
  if (kernel.control) {
    if (r.control_block >= kernel.control->blocks.size()) return {};
    const weft_control_block& block = kernel.control->blocks[r.control_block];
    begin = block.queue_first[queue];
    count = block.queue_count[queue];
  }
  const uint64_t first = uint64_t{begin} * WEFT_COMMAND_BYTES;
  const uint64_t bytes = uint64_t{count} * WEFT_COMMAND_BYTES;
  if (count != r.queue_total[queue] || first > program.commands.size() || bytes > program.commands.size() - first)
    return {};
  return program.commands.subspan(first, bytes);
}

uint64_t posts_of(std::span<const std::byte> commands, uint32_t from) {
  uint64_t posts = 0;
  for (size_t at = size_t{from} * WEFT_COMMAND_BYTES; at < commands.size(); at += WEFT_COMMAND_BYTES) {
    for (const size_t post : kPostSemaphores) {
      const auto semaphore = static_cast<uint32_t>(commands[at + post]);
      if (semaphore < WEFT_SEMAPHORES) posts |= uint64_t{1} << semaphore;
    }
  }
  return posts;
}

}  // namespace

StatePage state_of_record(const weft_fault_record& r, const ProgramText& program) {
  StatePage page;
  page.header.cycle = r.fault_cycle;
  weft_state_engine core{};
  core.engine = WEFT_ENGINE_CORE;
  core.active = 1;
  core.queue = r.queue_id;
  core.command_id = r.command_id;
  core.opcode = WEFT_QUEUE_OPCODE_LAUNCH;
  core.program_id = r.program_id;
  core.kernel = r.kernel;
  core.deadline_cycle = UINT64_MAX;
  core.control_entry = r.control_entry;
  core.control_block = r.control_block;
  std::copy(std::begin(r.control_turn), std::end(r.control_turn), core.control_turn);
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    weft_state_core_queue queue{};
    queue.queue = static_cast<uint16_t>(q);
    queue.level = r.queue_level[q];
    queue.pushed = r.queue_pushed[q];
    queue.total = r.queue_total[q];
    queue.retired = std::min(r.queue_retired[q], r.queue_total[q]);
    const uint32_t taken = queue.pushed - std::min(queue.level, queue.pushed);
    queue.running = static_cast<uint8_t>(std::min(taken - std::min(queue.retired, taken), kManyRunning));
    queue.head_tag = queue.level != 0 ? r.queue_tag[q] | WEFT_CSR_QUEUE_HEAD_TAG_VALID : 0;
    const auto commands = commands_of(r, program, q);
    if (queue.level != 0 && (size_t{taken} + 1) * WEFT_COMMAND_BYTES <= commands.size()) {
      queue.head_valid = 1;
      std::memcpy(queue.head, commands.data() + size_t{taken} * WEFT_COMMAND_BYTES, WEFT_COMMAND_BYTES);
    }
    queue.posts = posts_of(commands, queue.retired);
    core.remaining += queue.total - queue.retired;
    page.core_queues.push_back(queue);
  }
  std::copy(std::begin(r.semaphore), std::end(r.semaphore), page.semaphores.begin());
  page.engines.push_back(core);
  return page;
}

}  // namespace weft::driver
