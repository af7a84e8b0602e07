// Wrong programs through the whole stack: each fault that a program can raise, by its code, command and address, as the
// caller of weft.h reads it; and the device that works afterwards. Fault ICI needs a slice.
#include <cstdio>
#include <string>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "testbench/system/driver_handles.hpp"
#include "testbench/system/slice_devices.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"
#include "weft/spec/names.hpp"

namespace {

using namespace weft;
using namespace weft::test;

constexpr uint64_t kWatchdogCycles = 5000;
constexpr uint8_t kUnmapped = 9;  // segments 0 to 2 and those of the arguments, of which there are none, are mapped
constexpr uint16_t kWrongTag = 77;

const spec::Chip& nano() { return *spec::find_chip("nano"); }

/// A program of one to three commands, and what the caller is to be told.
struct WrongProgram {
  weft_fault fault;
  weft_error error;
  unsigned queue;  ///< of the core
  uint64_t address;
  compiler::Kernel kernel;
  bool by_command = true;  ///< the fault names the command with kWrongTag
};

spec::CommandHeader header(weft_opcode opcode, uint16_t tag = kWrongTag) {
  spec::CommandHeader h;
  h.opcode = static_cast<uint8_t>(opcode);
  h.tag = tag;
  return h;
}

spec::CommandHeader signal(uint8_t semaphore, uint16_t count, uint16_t tag = kWrongTag) {
  spec::CommandHeader h = header(WEFT_OPCODE_SIGNAL, tag);
  h.post_sem0 = semaphore, h.post_count0 = count;
  return h;
}

spec::DmaCommand fill(uint64_t offset, uint32_t bytes, uint16_t tag = kWrongTag) {
  spec::DmaCommand c;
  c.header = header(WEFT_OPCODE_FILL, tag);
  c.dst_off = offset, c.size0 = bytes;
  return c;
}

WrongProgram wrong(weft_fault fault, weft_error error, unsigned queue, uint64_t address,
                   const std::vector<spec::Command>& commands) {
  WrongProgram p{fault, error, queue, address, {}};
  p.kernel.name = "wrong";
  p.kernel.queues[queue] = commands;
  p.kernel.vmem_bytes = nano().vmem_bytes;
  p.kernel.semaphores = 8;
  return p;
}

std::vector<WrongProgram> wrong_programs() {
  std::vector<WrongProgram> all;
  spec::MxuCommand product;
  product.header = header(WEFT_OPCODE_MATMUL);
  product.dtype = WEFT_MXU_DTYPE_BF16, product.k = product.m = product.cols = 2;
  all.push_back(wrong(WEFT_FAULT_ILLEGAL_OPCODE, WEFT_ERROR_COMPUTE_FAULT, WEFT_QUEUE_VPU, WEFT_OPCODE_MATMUL,
                      {encode(product)}));

  spec::CommandHeader flags = signal(3, 1);
  flags.flags = 0x80;
  all.push_back(wrong(WEFT_FAULT_ILLEGAL_FIELD, WEFT_ERROR_COMPUTE_FAULT, WEFT_QUEUE_SYNC, 1, {spec::encode(flags)}));

  constexpr uint64_t kOffsetSize0 = 30;
  all.push_back(
      wrong(WEFT_FAULT_ALIGNMENT, WEFT_ERROR_COMPUTE_FAULT, WEFT_QUEUE_DMA_IN, kOffsetSize0, {encode(fill(0, 24))}));

  all.push_back(wrong(WEFT_FAULT_RANGE, WEFT_ERROR_DMA_FAULT, WEFT_QUEUE_DMA_IN, nano().vmem_bytes,
                      {encode(fill(nano().vmem_bytes - 16, 32))}));

  spec::DmaCommand copy;
  copy.header = header(WEFT_OPCODE_COPY);
  copy.src_seg = kUnmapped, copy.size0 = 16;
  all.push_back(wrong(WEFT_FAULT_SEGMENT, WEFT_ERROR_DMA_FAULT, WEFT_QUEUE_DMA_IN, kUnmapped, {encode(copy)}));

  all.push_back(wrong(WEFT_FAULT_SEMAPHORE_OVERFLOW, WEFT_ERROR_SEMAPHORE_FAULT, WEFT_QUEUE_SYNC, 3,
                      {spec::encode(signal(3, 65535, 1)), spec::encode(signal(3, 1))}));

  all.push_back(wrong(WEFT_FAULT_SEMAPHORE_LEAK, WEFT_ERROR_SEMAPHORE_FAULT, WEFT_QUEUE_SYNC, 5,
                      {spec::encode(signal(2, 1)), spec::encode(signal(5, 300))}));
  all.back().by_command = false;  // the firmware finds it when all commands have retired
  spec::CommandHeader take = header(WEFT_OPCODE_WAIT);
  take.wait_sem0 = 2, take.wait_count0 = 1;
  all.back().kernel.queues[WEFT_QUEUE_SYNC].push_back(spec::encode(take));

  product.acc_row = static_cast<uint16_t>(nano().acc_bank_rows - 1);
  all.push_back(
      wrong(WEFT_FAULT_ACC_RANGE, WEFT_ERROR_COMPUTE_FAULT, WEFT_QUEUE_MXU, product.acc_row, {encode(product)}));

  take.wait_sem0 = 4;
  all.push_back(wrong(WEFT_FAULT_WATCHDOG, WEFT_ERROR_DEVICE_HUNG, WEFT_QUEUE_SYNC, 0, {spec::encode(take)}));

  // The first is at work on one channel when the second comes, which so goes to the other.
  constexpr uint32_t kLong = 64 * 1024;
  all.push_back(wrong(WEFT_FAULT_HAZARD, WEFT_ERROR_COMPUTE_FAULT, WEFT_QUEUE_DMA_IN, 64,
                      {encode(fill(64, kLong, 1)), encode(fill(64, 16))}));
  return all;
}

/// A remote COPY of 64 bytes of VMEM to segment 3 of a chip.
WrongProgram to_chip(uint16_t chip, weft_ici_cause cause) {
  spec::DmaCommand copy;
  copy.header = header(WEFT_OPCODE_COPY);
  copy.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  copy.remote_chip = chip;
  copy.dst_seg = 3, copy.size0 = 64;
  const uint64_t detail = cause == WEFT_ICI_CAUSE_SEGMENT ? 3 : 0;
  return wrong(WEFT_FAULT_ICI, WEFT_ERROR_ICI_FAULT, WEFT_QUEUE_DMA_OUT,
               uint64_t{cause} << 56 | uint64_t{chip} << 32 | detail, {encode(copy)});
}

/// A BARRIER of `chips` from `base` on.
WrongProgram at_barrier(weft_fault fault, weft_error error, uint16_t base, uint16_t chips, uint64_t address) {
  spec::BarrierCommand barrier;
  barrier.header = header(WEFT_OPCODE_BARRIER);
  barrier.base = base, barrier.count0 = chips, barrier.count1 = barrier.count2 = 1;
  barrier.stride0 = chips > 1 ? 1 : 0;
  return wrong(fault, error, WEFT_QUEUE_SYNC, address, {spec::encode(barrier)});
}

/// Of chip 1 of four.
std::vector<WrongProgram> wrong_slice_programs() {
  constexpr uint64_t kGroup = uint64_t{WEFT_ICI_CAUSE_BARRIER_GROUP} << 56, kOffsetCount0 = 18;
  return {to_chip(4, WEFT_ICI_CAUSE_NO_SUCH_CHIP),
          to_chip(65535, WEFT_ICI_CAUSE_NO_SUCH_CHIP),
          to_chip(1, WEFT_ICI_CAUSE_NO_SUCH_CHIP),  // itself
          to_chip(2, WEFT_ICI_CAUSE_SEGMENT),       // it has launched nothing
          at_barrier(WEFT_FAULT_ICI, WEFT_ERROR_ICI_FAULT, 1, 4, kGroup | uint64_t{1} << 32),
          at_barrier(WEFT_FAULT_ICI, WEFT_ERROR_ICI_FAULT, 2, 2, kGroup | uint64_t{2} << 32),
          at_barrier(WEFT_FAULT_ILLEGAL_FIELD, WEFT_ERROR_COMPUTE_FAULT, 1, 0, kOffsetCount0)};
}

/// Launches the kernel and waits for its end.
weft_status launch(weft_device* device, weft_queue* queue, const compiler::Kernel& kernel) {
  const auto executable = compiler::write_executable(nano(), kernel);
  if (!executable.ok()) FAIL(executable.error().message);
  weft_program* p = nullptr;
  require_ok(weft_program_load(device, executable.value().data(), executable.value().size(), &p));
  const Handle<weft_program> program(p);
  weft_kernel* k = nullptr;
  require_ok(weft_program_get_kernel(p, 0, &k));
  weft_event* e = nullptr;
  require_ok(weft_launch(queue, k, nullptr, 0, nullptr, &e));
  const Handle<weft_event> event(e);
  return weft_event_wait(e, nullptr);
}

}  // namespace

namespace {

/// The wrong programs of slices, each on a slice of its own, and a launch after it. The faults that were right.
std::string slice_faults(const std::string& core) {
  std::string reached;
  for (const WrongProgram& program : wrong_slice_programs()) {
    SliceDevices slice("sim:nano-2x2?core=" + core);
    CHECK(launch(slice.device(1), slice.queue(1), program.kernel) == program.error);
    weft_error_info info = WEFT_INIT(weft_error_info);
    require_ok(weft_last_error(&info));
    INFO(core << " core, message: " << info.message);
    CHECK(info.fault == static_cast<uint32_t>(program.fault));
    CHECK(info.fault_queue == program.queue);
    CHECK(info.fault_address == program.address);
    CHECK(info.fault_tag == kWrongTag);
    if (info.code == program.error && info.fault == static_cast<uint32_t>(program.fault))
      reached = " " + std::string(spec::fault_name(WEFT_FAULT_ICI));
    compiler::Kernel empty;
    empty.name = "empty";
    CHECK(launch(slice.device(1), slice.queue(1), empty) == WEFT_ERROR_OK);
  }
  return reached;
}

}  // namespace

TEST_CASE("each fault that a program can raise reaches the caller with code, command and address", "[fault_codes]") {
  for (const std::string core : {"rtl", "fast"}) {
    std::string reached;
    for (const WrongProgram& program : wrong_programs()) {
      INFO(core << " core, " << spec::fault_name(program.fault));
      weft_device* d = nullptr;
      require_ok(weft_open(("sim:nano?core=" + core).c_str(), &d));
      Handle<weft_device> device(d);
      require_ok(weft_device_set_watchdog(d, kWatchdogCycles));
      weft_queue* q = nullptr;
      require_ok(weft_queue_create(d, nullptr, &q));
      Handle<weft_queue> queue(q);

      CHECK(launch(d, q, program.kernel) == program.error);
      weft_error_info info = WEFT_INIT(weft_error_info);
      require_ok(weft_last_error(&info));
      INFO("message: " << info.message);
      CHECK(info.fault == static_cast<uint32_t>(program.fault));
      CHECK(info.fault_queue == program.queue);
      CHECK(info.fault_address == program.address);
      if (program.by_command) CHECK(info.fault_tag == kWrongTag);
      if (info.code == program.error && info.fault == static_cast<uint32_t>(program.fault))
        reached += " " + std::string(spec::fault_name(program.fault));

      if (info.scope != WEFT_ERROR_SCOPE_DEVICE) {
        compiler::Kernel empty;
        empty.name = "empty";
        CHECK(launch(d, q, empty) == WEFT_ERROR_OK);
      }
      queue.reset();
      require_ok(weft_close(device.release(), nullptr));
    }
    reached += slice_faults(core);
    std::printf("fault_codes: %s%s\n", core.c_str(), reached.c_str());
  }
}
