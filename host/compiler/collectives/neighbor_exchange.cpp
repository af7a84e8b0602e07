// One load, then remote copies port by port; the last of each posts at its receiver.
#include "host/compiler/collectives/neighbor_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/compiler/executable/program_builder.hpp"

namespace weft::compiler {
namespace {

constexpr uint8_t kBlock = 3, kReceived = 4;  // segments of the arguments
constexpr unsigned kGate = 0, kLoaded = 1, kNeighborDone = 48;
constexpr uint32_t kSignature = 0x6e656967;  // of the BARRIER
constexpr uint64_t kGranule = 16;

spec::BarrierCommand barrier_of_all(const SliceShape& slice) {
  spec::BarrierCommand c;
  c.header.opcode = WEFT_OPCODE_BARRIER;
  const auto stride = [](uint32_t count, uint32_t chips) { return static_cast<uint16_t>(count > 1 ? chips : 0); };
  c.count0 = static_cast<uint16_t>(slice.size[0]);
  c.count1 = static_cast<uint16_t>(slice.size[1]);
  c.count2 = static_cast<uint16_t>(slice.size[2]);
  c.stride0 = stride(slice.size[0], 1);
  c.stride1 = stride(slice.size[1], slice.size[0]);
  c.stride2 = stride(slice.size[2], slice.size[0] * slice.size[1]);
  c.signature = kSignature;
  ProgramBuilder::post(c.header, kGate, 1);
  return c;
}

void load_block(ProgramBuilder& program, uint64_t bytes) {
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_COPY;
  c.header.tag = program.tag("load the block");
  c.src_seg = kBlock;
  c.size0 = static_cast<uint32_t>(bytes);
  ProgramBuilder::post(c.header, kLoaded, 1);
  program.push(WEFT_QUEUE_DMA_IN, spec::encode(c));
}

/// Round by round, so that all links work at once; what leaves by a port comes in by the opposite one.
void send_blocks(ProgramBuilder& program, const NeighborExchange& exchange) {
  bool first = true;
  for (uint32_t round = 0; round < exchange.rounds; round++)
    for (uint32_t port = 0; port < NeighborExchange::kPorts; port++) {
      if (!exchange.neighbors[port]) continue;
      spec::DmaCommand c;
      c.header.opcode = WEFT_OPCODE_COPY;
      c.header.flags = WEFT_COMMAND_FLAG_REMOTE;
      c.header.tag = program.tag(fmt::format("send to chip {}", *exchange.neighbors[port]));
      c.remote_chip = static_cast<uint16_t>(*exchange.neighbors[port]);
      c.dst_seg = kReceived;
      c.dst_off = exchange.offset(port ^ 1, round);
      c.size0 = static_cast<uint32_t>(exchange.block_bytes);
      if (first) {
        ProgramBuilder::wait(c.header, kLoaded, 1);
        ProgramBuilder::wait(c.header, kGate, 1);
        first = false;
      }
      if (round + 1 == exchange.rounds) {
        c.header.post_sem1 = kNeighborDone;
        c.header.post_count1 = 1;
      }
      program.push(WEFT_QUEUE_DMA_OUT, spec::encode(c));
    }
}

Argument argument(const char* name, weft_argument_direction direction, uint64_t bytes) {
  return {.name = name,
          .direction = direction,
          .rows = 1,
          .columns = bytes / sizeof(float),
          .pitch_bytes = bytes,
          .size_bytes = bytes};
}

}  // namespace

Result<Kernel> compile_neighbor_exchange(const spec::Chip& chip, const SliceShape& slice,
                                         const NeighborExchange& exchange) {
  if (exchange.block_bytes == 0 || exchange.block_bytes % kGranule != 0 || exchange.block_bytes > chip.vmem_bytes ||
      exchange.rounds == 0)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{} rounds of {} bytes: at least one round, and a multiple of {} up to VMEM's {} bytes",
                             exchange.rounds, exchange.block_bytes, kGranule, chip.vmem_bytes)};
  ProgramBuilder program(chip);
  auto barrier = barrier_of_all(slice);
  barrier.header.tag = program.tag("barrier of all chips");
  const auto neighbors = static_cast<uint64_t>(
      std::ranges::count_if(exchange.neighbors, [](const auto& neighbor) { return neighbor.has_value(); }));
  if (neighbors == 0) barrier.header.post_sem0 = WEFT_NO_SEMAPHORE, barrier.header.post_count0 = 0;
  program.push(WEFT_QUEUE_SYNC, spec::encode(barrier));
  if (neighbors != 0) {
    load_block(program, exchange.block_bytes);
    send_blocks(program, exchange);
    spec::NoneCommand wait;
    wait.header.opcode = WEFT_OPCODE_WAIT;
    wait.header.tag = program.tag("wait for the neighbours");
    ProgramBuilder::wait(wait.header, kNeighborDone, neighbors);
    program.push(WEFT_QUEUE_SYNC, spec::encode(wait));
  }
  program.note_vmem_words((exchange.block_bytes + chip.word_bytes - 1) / chip.word_bytes);
  Kernel kernel = program.kernel("neighbor_exchange");
  kernel.arguments = {argument("block", WEFT_ARGUMENT_DIRECTION_INPUT, exchange.block_bytes),
                      argument("received", WEFT_ARGUMENT_DIRECTION_OUTPUT, exchange.received_bytes())};
  return kernel;
}

}  // namespace weft::compiler
