// What one function leaves in VMEM and ACC, as a program of another function finds it.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "testbench/system/driver_handles.hpp"
#include "testbench/system/sim_server.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace {

using namespace weft;
using namespace weft::test;

constexpr uint32_t kOnes = 0x3f803f80;  // bf16 1, twice
constexpr uint32_t kBanks = 2;

const spec::Chip& nano() { return *spec::find_chip("nano"); }
uint64_t acc_bytes() { return kBanks * nano().acc_bank_rows * nano().n * 4; }

spec::CommandHeader header(weft_opcode opcode) {
  spec::CommandHeader h;
  h.opcode = static_cast<uint8_t>(opcode);
  return h;
}

compiler::Kernel kernel_of(const std::string& name) {
  compiler::Kernel kernel;
  kernel.name = name;
  kernel.vmem_bytes = nano().vmem_bytes;
  kernel.semaphores = 2;
  return kernel;
}

/// Ones in all of VMEM, and products of them in all of ACC.
compiler::Kernel marking_kernel() {
  compiler::Kernel kernel = kernel_of("mark");
  spec::DmaCommand fill;
  fill.header = header(WEFT_OPCODE_FILL);
  fill.header.post_sem0 = 0, fill.header.post_count0 = kBanks;
  fill.src_off = kOnes, fill.size0 = static_cast<uint32_t>(nano().vmem_bytes);
  fill.size1 = fill.size2 = fill.size3 = 1;
  kernel.queues[WEFT_QUEUE_DMA_IN] = {encode(fill)};
  for (uint32_t bank = 0; bank < kBanks; bank++) {
    spec::MxuCommand product;
    product.header = header(WEFT_OPCODE_MATMUL);
    product.header.wait_sem0 = 0, product.header.wait_count0 = 1;
    product.dtype = WEFT_MXU_DTYPE_BF16;
    product.x_row_stride = product.x_tile_stride = product.w_tile_stride = 1;
    product.k = static_cast<uint32_t>(nano().n), product.cols = static_cast<uint16_t>(nano().n);
    product.m = static_cast<uint16_t>(nano().acc_bank_rows);
    product.acc_row = static_cast<uint16_t>(bank * nano().acc_bank_rows);
    kernel.queues[WEFT_QUEUE_MXU].push_back(encode(product));
  }
  return kernel;
}

spec::DmaCommand copy_out(uint64_t bytes, uint64_t to) {
  spec::DmaCommand copy;
  copy.header = header(WEFT_OPCODE_COPY);
  copy.dst_seg = 3, copy.dst_off = to, copy.size0 = static_cast<uint32_t>(bytes);
  copy.size1 = copy.size2 = copy.size3 = 1;
  return copy;
}

/// Everything that VMEM and ACC hold, to its argument.
compiler::Kernel spying_kernel() {
  compiler::Kernel kernel = kernel_of("spy");
  const uint64_t bytes = nano().vmem_bytes + acc_bytes();
  compiler::Argument seen;
  seen.name = "seen";
  seen.direction = WEFT_ARGUMENT_DIRECTION_OUTPUT;
  seen.rows = 1, seen.columns = bytes / 4, seen.pitch_bytes = seen.size_bytes = bytes;
  kernel.arguments = {seen};
  spec::DmaCommand vmem = copy_out(nano().vmem_bytes, 0);
  vmem.header.post_sem0 = 0, vmem.header.post_count0 = kBanks;
  spec::DmaCommand acc = copy_out(acc_bytes(), nano().vmem_bytes);
  acc.header.wait_sem0 = 1, acc.header.wait_count0 = kBanks;
  kernel.queues[WEFT_QUEUE_DMA_OUT] = {encode(vmem), encode(acc)};
  for (uint32_t bank = 0; bank < kBanks; bank++) {
    spec::VpuCommand read;
    read.header = header(WEFT_OPCODE_EPILOGUE);
    read.header.wait_sem0 = 0, read.header.wait_count0 = 1;
    read.header.post_sem0 = 1, read.header.post_count0 = 1;
    read.src_space = WEFT_VPU_SPACE_ACC;
    read.src_dtype = read.dst_dtype = WEFT_VPU_DTYPE_F32;
    read.rows = static_cast<uint16_t>(nano().acc_bank_rows), read.cols = static_cast<uint16_t>(nano().n);
    read.a_addr = static_cast<uint32_t>(bank * nano().acc_bank_rows), read.a_stride = 1;
    read.d_addr = static_cast<uint32_t>(2 * bank * nano().acc_bank_rows), read.d_stride = 2;
    kernel.queues[WEFT_QUEUE_VPU].push_back(encode(read));
  }
  return kernel;
}

/// A process's side: a device with a queue.
struct Client {
  explicit Client(const std::string& name) {
    weft_device* d = nullptr;
    require_ok(weft_open(name.c_str(), &d));
    device.reset(d);
    weft_queue* q = nullptr;
    require_ok(weft_queue_create(d, nullptr, &q));
    queue.reset(q);
  }
  void run(const compiler::Kernel& kernel, weft_buffer* argument) const {
    const auto executable = compiler::write_executable(nano(), kernel);
    if (!executable.ok()) FAIL(executable.error().message);
    weft_program* p = nullptr;
    require_ok(weft_program_load(device.get(), executable.value().data(), executable.value().size(), &p));
    const Handle<weft_program> program(p);
    weft_kernel* k = nullptr;
    require_ok(weft_program_get_kernel(p, 0, &k));
    const weft_argument a{argument, 0};
    weft_event* e = nullptr;
    const bool takes_one = argument != nullptr;
    require_ok(weft_launch(queue.get(), k, takes_one ? &a : nullptr, takes_one ? 1 : 0, nullptr, &e));
    const Handle<weft_event> event(e);
    require_ok(weft_event_wait(e, nullptr));
  }
  void mark() const { run(marking_kernel(), nullptr); }
  /// Bytes of VMEM and of ACC that are not zero.
  std::pair<uint64_t, uint64_t> spy() const {
    weft_buffer* b = nullptr;
    require_ok(weft_buffer_create(device.get(), WEFT_MEMORY_HOST, nano().vmem_bytes + acc_bytes(), &b));
    const Handle<weft_buffer> buffer(b);
    run(spying_kernel(), b);
    void* pointer = nullptr;
    require_ok(weft_buffer_map(b, &pointer));
    const auto* bytes = static_cast<const unsigned char*>(pointer);
    const auto count = [&](uint64_t from, uint64_t size) {
      const auto* first = bytes + from;
      return static_cast<uint64_t>(std::count_if(first, first + size, [](unsigned char v) { return v != 0; }));
    };
    return {count(0, nano().vmem_bytes), count(nano().vmem_bytes, acc_bytes())};
  }

  Handle<weft_device> device;
  Handle<weft_queue> queue;
};

}  // namespace

TEST_CASE("a function finds VMEM and ACC zero after another's launch, and its own work where it left it") {
  for (const std::string core : {"fast", "rtl", "lockstep"}) {
    INFO(core << " core");
    const SimServer server("nano", core, 2);
    const Client first(server.device(0)), second(server.device(1));
    first.mark();
    const auto own = first.spy();
    CHECK(own.first == nano().vmem_bytes);
    CHECK(own.second == acc_bytes() / 4);  // 8.0 in f32 has one byte that is not zero
    first.mark();
    const auto foreign = second.spy();
    CHECK(foreign.first == 0);
    CHECK(foreign.second == 0);
  }
}

TEST_CASE("the next process on a function finds VMEM and ACC zero, also on a chip with one function") {
  for (const unsigned functions : {1u, 2u}) {
    INFO(functions << " functions");
    const SimServer server("nano", "fast", functions);
    const Holdings empty = server.holdings();
    Client(server.device(0)).mark();
    CHECK(server.settle(empty) == empty);
    const auto seen = Client(server.device(0)).spy();
    CHECK(seen.first == 0);
    CHECK(seen.second == 0);
  }
}
