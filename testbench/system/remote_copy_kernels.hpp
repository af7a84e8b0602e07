/// Two programs that meet: a chip writes into the next one's buffer, whose program waits for it.
#pragma once
#include <cstddef>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"

namespace weft::test {

inline constexpr uint64_t kBytes = 96 << 10;
inline constexpr uint8_t kArgument = 3;  // segment of argument 0
inline constexpr uint8_t kBarrierDone = 1, kLoaded = 2, kArrived = 48;

/// Of `chips` chips from `base` on.
inline spec::BarrierCommand barrier(uint16_t base, uint16_t chips, uint32_t signature) {
  spec::BarrierCommand c;
  c.header.opcode = WEFT_OPCODE_BARRIER;
  c.header.post_sem0 = kBarrierDone;
  c.header.post_count0 = 1;
  c.base = base;
  c.count0 = chips;
  c.stride0 = 1;
  c.count1 = c.count2 = 1;
  c.signature = signature;
  return c;
}

inline spec::DmaCommand copy(uint8_t from, uint8_t to) {
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_COPY;
  c.src_seg = from;
  c.dst_seg = to;
  c.size0 = kBytes;
  return c;
}

/// Of chip `from`: its argument goes to `segment` of the next chip.
inline compiler::Kernel sender(uint8_t segment, uint32_t signature, uint16_t from = 0) {
  compiler::Kernel kernel;
  kernel.name = "send";
  kernel.arguments = {{.name = "data", .rows = 1, .columns = kBytes / 4, .pitch_bytes = kBytes, .size_bytes = kBytes}};
  kernel.queues[WEFT_QUEUE_SYNC].push_back(spec::encode(barrier(from, 2, signature)));
  auto load = copy(kArgument, 0);
  load.header.post_sem0 = kLoaded;
  load.header.post_count0 = 1;
  kernel.queues[WEFT_QUEUE_DMA_IN].push_back(spec::encode(load));
  auto send = copy(0, segment);
  send.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  send.header.tag = 7;
  send.remote_chip = static_cast<uint16_t>(from + 1);
  send.header.wait_sem0 = kLoaded;
  send.header.wait_count0 = 1;
  send.header.wait_sem1 = kBarrierDone;
  send.header.wait_count1 = 1;
  send.header.post_sem1 = kArrived;
  send.header.post_count1 = 1;
  kernel.queues[WEFT_QUEUE_DMA_OUT].push_back(spec::encode(send));
  kernel.vmem_bytes = kBytes;
  return kernel;
}

/// Of the chip behind `from`: waits until its argument holds what that one sent.
inline compiler::Kernel receiver(uint32_t signature, uint16_t from = 0) {
  compiler::Kernel kernel;
  kernel.name = "receive";
  kernel.arguments = {{.name = "data",
                       .direction = WEFT_ARGUMENT_DIRECTION_OUTPUT,
                       .rows = 1,
                       .columns = kBytes / 4,
                       .pitch_bytes = kBytes,
                       .size_bytes = kBytes}};
  kernel.queues[WEFT_QUEUE_SYNC].push_back(spec::encode(barrier(from, 2, signature)));
  spec::NoneCommand wait;
  wait.header.opcode = WEFT_OPCODE_WAIT;
  wait.header.wait_sem0 = kArrived;
  wait.header.wait_count0 = 1;
  wait.header.wait_sem1 = kBarrierDone;
  wait.header.wait_count1 = 1;
  kernel.queues[WEFT_QUEUE_SYNC].push_back(spec::encode(wait));
  return kernel;
}

inline std::vector<std::byte> pattern() {
  std::vector<std::byte> data(kBytes);
  uint32_t state = 1;
  for (auto& byte : data) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return data;
}

}  // namespace weft::test
