// Endings: faults that take more than one wrong field.
#include "testbench/random/program_ending.hpp"

#include "model/golden/indexed_rows.hpp"

namespace weft::random {
namespace {

constexpr uint16_t kFirstTag = 0xfff0;  // beyond those of the steps
constexpr unsigned kMaxCount = 65535;
constexpr uint64_t kSegmentBytes = 65536;

void push(Program& program, unsigned queue, const spec::Command& command) {
  program.commands.push_back({queue, command});
}

spec::CommandHeader header(weft_opcode opcode, unsigned index) {
  spec::CommandHeader h;
  h.opcode = opcode;
  h.tag = static_cast<uint16_t>(kFirstTag + index);
  return h;
}

spec::DmaCommand transfer(const spec::Chip& chip, weft_opcode opcode, unsigned index) {
  spec::DmaCommand c;
  c.header = header(opcode, index);
  c.size0 = static_cast<uint32_t>(kEndingWords * chip.word_bytes);
  c.size1 = c.size2 = c.size3 = 1;
  return c;
}

bool append_overflow(const EndingRoom& room, Program& program) {
  if (room.drained.empty()) return false;
  const uint8_t semaphore = room.drained.front();
  const auto first = static_cast<uint16_t>(1 + room.draw % kMaxCount);
  for (unsigned i = 0; i < 2; i++) {
    spec::CommandHeader h = header(WEFT_OPCODE_SIGNAL, i);
    h.post_sem0 = semaphore;
    h.post_count0 = static_cast<uint16_t>(i == 0 ? first : kMaxCount + 1 - first);
    push(program, WEFT_QUEUE_SYNC, spec::encode(spec::NoneCommand{h}));
  }
  program.fault = ExpectedFault{WEFT_FAULT_SEMAPHORE_OVERFLOW, semaphore, WEFT_QUEUE_SYNC, kFirstTag + 1};
  return true;
}

/// A FILL waits for a SIGNAL, which waits for the FILL. The watchdog names the first queue that is not empty.
bool append_deadlock(const Plan& plan, const EndingRoom& room, Program& program) {
  if (!room.vmem || room.unused.size() < 2) return false;
  spec::DmaCommand fill = transfer(*plan.chip, WEFT_OPCODE_FILL, 0);
  fill.dst_off = *room.vmem;
  spec::CommandHeader signal = header(WEFT_OPCODE_SIGNAL, 1);
  fill.header.wait_sem0 = signal.post_sem0 = room.unused[0];
  fill.header.post_sem0 = signal.wait_sem0 = room.unused[1];
  fill.header.wait_count0 = fill.header.post_count0 = signal.wait_count0 = signal.post_count0 = 1;
  push(program, WEFT_QUEUE_DMA_IN, spec::encode(fill));
  push(program, WEFT_QUEUE_SYNC, spec::encode(spec::NoneCommand{signal}));
  program.fault = ExpectedFault{WEFT_FAULT_WATCHDOG, 0, WEFT_QUEUE_DMA_IN, kFirstTag};
  return true;
}

/// The segment of beyond_memory(); WEFT_SEGMENTS: there is none.
uint8_t beyond_segment(const Plan& plan) {
  uint8_t segment = 1;
  const auto is_beyond = [&](weft_address_space space) {
    return plan.segments[segment] == beyond_memory(*plan.chip, space);
  };
  while (segment < WEFT_SEGMENTS && !is_beyond(WEFT_ADDRESS_SPACE_HBM) && !is_beyond(WEFT_ADDRESS_SPACE_HOST))
    segment++;
  return segment;
}

/// The first beat is outside already, so that nothing is moved.
bool append_bus_error(const Plan& plan, const EndingRoom& room, Program& program) {
  const uint8_t segment = beyond_segment(plan);
  if (!room.vmem || segment == WEFT_SEGMENTS) return false;
  const uint64_t offset = room.draw / 4 % (kSegmentBytes / 32) * 16;
  const bool in = room.draw % 2 == 0;
  spec::DmaCommand copy = transfer(*plan.chip, WEFT_OPCODE_COPY, 0);
  (in ? copy.src_seg : copy.dst_seg) = segment;
  (in ? copy.src_off : copy.dst_off) = offset;
  (in ? copy.dst_off : copy.src_off) = *room.vmem;
  const unsigned queue = in ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT;
  push(program, queue, spec::encode(copy));
  program.fault = ExpectedFault{WEFT_FAULT_DMA_BUS, plan.segments[segment].base + offset, queue, kFirstTag};
  return true;
}

/// A FILL makes the indices, and what goes by them waits for it. The first one is wrong, so that nothing is moved.
bool append_index(const Plan& plan, const EndingRoom& room, Program& program) {
  if (!room.vmem || room.unused.empty()) return false;
  const bool gathers = room.draw % 2 == 0;
  const uint64_t word = plan.chip->word_bytes;
  spec::IndexedCommand c;
  c.header = header(gathers ? WEFT_OPCODE_GATHER : WEFT_OPCODE_SCATTER, 1);
  c.row_bytes = WEFT_CORE_DMA_GRANULE_BYTES;
  c.count = static_cast<uint16_t>(1 + room.draw / 2 % (word / sizeof(int32_t)));
  c.table_rows = static_cast<uint32_t>(1 + room.draw / 64 % 5);
  c.index_off = static_cast<uint32_t>(*room.vmem);
  (gathers ? c.dst_off : c.src_off) = *room.vmem + word;
  (gathers ? c.src_stride : c.dst_stride) = WEFT_CORE_DMA_GRANULE_BYTES;
  const uint8_t segment = beyond_segment(plan);  // no other command has it
  if (segment == WEFT_SEGMENTS) return false;
  (gathers ? c.src_seg : c.dst_seg) = segment;
  const auto bad = static_cast<int32_t>(room.draw / 512 % 2 == 0 ? c.table_rows : INT32_MIN + c.count);
  spec::DmaCommand fill = transfer(*plan.chip, WEFT_OPCODE_FILL, 0);
  fill.size0 = static_cast<uint32_t>(word);
  fill.src_off = static_cast<uint32_t>(bad);
  fill.dst_off = *room.vmem;
  fill.header.post_sem0 = c.header.wait_sem0 = room.unused[0];
  fill.header.post_count0 = c.header.wait_count0 = 1;
  push(program, WEFT_QUEUE_DMA_IN, spec::encode(fill));
  const unsigned queue = gathers ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT;
  push(program, queue, spec::encode(c));
  program.fault =
      ExpectedFault{WEFT_FAULT_INDEX, golden::index_fault_address(0, bad), queue, static_cast<uint16_t>(kFirstTag + 1)};
  return true;
}

/// Two FILLs on the two channels of dma_in.
bool append_race(const Plan& plan, const EndingRoom& room, Program& program) {
  if (!room.vmem) return false;
  for (unsigned i = 0; i < 2; i++) {
    spec::DmaCommand fill = transfer(*plan.chip, WEFT_OPCODE_FILL, i);
    fill.src_off = room.draw & UINT32_MAX;  // the same pattern: the run's result does not depend on who wins
    fill.dst_off = *room.vmem;
    push(program, WEFT_QUEUE_DMA_IN, spec::encode(fill));
  }
  program.fault = ExpectedFault{WEFT_FAULT_HAZARD, *room.vmem, WEFT_QUEUE_DMA_IN, kFirstTag + 1};
  return true;
}

}  // namespace

golden::Segment beyond_memory(const spec::Chip& chip, weft_address_space space) {
  return {memory_bytes(chip), kSegmentBytes, space, true, true};
}

bool append_ending(const Plan& plan, const EndingRoom& room, Program& program) {
  switch (plan.ending) {
    case Ending::kNone:
      return true;
    case Ending::kOverflow:
      return append_overflow(room, program);
    case Ending::kDeadlock:
      return append_deadlock(plan, room, program);
    case Ending::kBusError:
      return append_bus_error(plan, room, program);
    case Ending::kIndex:
      return append_index(plan, room, program);
    case Ending::kRace:
      return append_race(plan, room, program);
  }
  return false;
}

}  // namespace weft::random
