#include "testbench/lifetime/kernels.hpp"

#include <cstdio>
#include <cstdlib>

#include "host/compiler/executable/executable_writer.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::lifetime {

std::vector<std::byte> writer(uint32_t times) {
  compiler::Kernel kernel;
  kernel.name = "writer";
  kernel.vmem_bytes = kWriterBytes;
  kernel.semaphores = 1;
  spec::DmaCommand fill;
  fill.header.opcode = WEFT_OPCODE_FILL;
  fill.src_off = kOld;
  fill.size0 = kWriterBytes;
  fill.header.post_sem0 = 0, fill.header.post_count0 = 1;
  kernel.queues[WEFT_QUEUE_DMA_IN] = {spec::encode(fill)};
  spec::DmaCommand copy;
  copy.header.opcode = WEFT_OPCODE_COPY;
  copy.dst_seg = 3, copy.size0 = kWriterBytes;
  copy.size1 = times;  // strides of 0
  copy.header.wait_sem0 = 0, copy.header.wait_count0 = 1;
  kernel.queues[WEFT_QUEUE_DMA_OUT] = {spec::encode(copy)};
  compiler::Argument out;
  out.name = "out";
  out.direction = WEFT_ARGUMENT_DIRECTION_OUTPUT;
  out.rows = 1, out.columns = kWriterWords, out.pitch_bytes = kWriterBytes, out.size_bytes = kWriterBytes;
  kernel.arguments = {out};
  auto executable = compiler::write_executable(*spec::find_chip("nano"), kernel);
  if (executable.ok()) return executable.value();
  std::fprintf(stderr, "lifetimes: %s\n", executable.error().message.c_str());
  std::abort();
}

}  // namespace weft::lifetime
