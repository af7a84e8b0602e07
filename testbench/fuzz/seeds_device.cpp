// Seeds for what the device reads: images, commands, rings.
#include <cstring>

#include "host_side.hpp"
#include "model/core/fast_core.hpp"
#include "testbench/fuzz/seeds.hpp"
#include "testbench/unit/fast_core/programs.hpp"

namespace weft::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

// Operations of fuzz_firmware_rings.cpp and fuzz_fast_core.cpp, in their order there.
enum class HostOperation : uint8_t {
  kSleep,
  kEntry,
  kRawEntry,
  kRing,
  kDoorbell,
  kCompletion,
  kDrain,
  kImage,
  kLaunch,
  kCreate,
  kBusError,
  kCoreFault,
  kCoreHang,
  kRequests,
  kBoot,
  kMemory
};
enum class CoreOperation : uint8_t { kPush, kSegment, kRegister, kAdvance, kReset, kRead };

/// A host's operations as bytes.
class HostScript {
 public:
  template <typename... Operands>
  HostScript& add(HostOperation operation, const Operands&... operands) {
    append(bytes, operation);
    (append(bytes, operands), ...);
    return *this;
  }
  HostScript& sleep() { return add(HostOperation::kSleep); }
  HostScript& entry(uint8_t queue, weft_submission_entry e) { return add(HostOperation::kEntry, queue, e); }
  HostScript& ring(uint8_t queue) { return add(HostOperation::kRing, queue); }
  HostScript& drain(uint8_t queue) { return add(HostOperation::kDrain, queue); }
  HostScript& load() { return add(HostOperation::kImage, uint16_t{0}, uint64_t{0}).sleep().drain(0); }
  HostScript& launch(uint8_t queue) { return add(HostOperation::kLaunch, queue, uint8_t{0}, uint64_t{0}); }

  Bytes bytes;
};

template <typename Command>
Bytes command_seed(unsigned queue, const Command& command) {
  Bytes bytes{static_cast<uint8_t>(queue), 0};
  for (unsigned i = 0; i < 3; i++) {
    append(bytes, uint64_t{i} << 20);
    append(bytes, uint64_t{1} << 20);
    bytes.push_back(WEFT_ADDRESS_SPACE_HBM | 4 | 8);
  }
  const spec::Command encoded = spec::encode(command);
  bytes.insert(bytes.end(), encoded.bytes.begin(), encoded.bytes.end());
  return bytes;
}

spec::VpuCommand vpu(weft_opcode opcode, uint8_t op, uint8_t from, uint8_t to, uint8_t b_mode) {
  spec::VpuCommand c = test::epilogue(0, 4, 8, 64);
  c.header.opcode = static_cast<uint8_t>(opcode);
  c.op = op;
  c.src_space = WEFT_VPU_SPACE_VMEM;
  c.src_dtype = from;
  c.dst_dtype = to;
  c.b_mode = b_mode;
  c.a_stride = c.b_stride = 2;
  c.b_addr = 32;
  return c;
}

}  // namespace

Seeds program_image_seeds() {
  Seeds seeds;
  const auto add = [&](const char* name, const Bytes& image) {
    Bytes bytes;
    append(bytes, uint16_t{mock::kImage / WEFT_COMMAND_BYTES});
    append(bytes, static_cast<uint32_t>(image.size()));
    bytes.insert(bytes.end(), image.begin(), image.end());
    seeds[name] = bytes;
  };
  add("small", mock::make_image({2, 1, 1, 1, 1}, 2));
  add("constants", mock::make_image({1, 0, 0, 0, 0}, 0, 4096, 256));
  add("no_commands", mock::make_image({0, 0, 0, 0, 0}));
  return seeds;
}

Seeds command_seeds() {
  const uint32_t n = spec::kChips[0].n;
  return {
      {"copy_in", command_seed(WEFT_QUEUE_DMA_IN, test::copy_in(3, 0, 0, 256))},
      {"copy_out", command_seed(WEFT_QUEUE_DMA_OUT, test::copy_out(0, 4, 64, 256))},
      {"matmul", command_seed(WEFT_QUEUE_MXU, test::matmul(0, 1, 64, 4, n, static_cast<uint16_t>(n), n))},
      {"epilogue", command_seed(WEFT_QUEUE_VPU, test::epilogue(0, 4, static_cast<uint16_t>(n), 0))},
      {"add", command_seed(WEFT_QUEUE_VPU, vpu(WEFT_OPCODE_ELEMENTWISE, WEFT_VPU_OP_ADD, WEFT_VPU_DTYPE_F32,
                                               WEFT_VPU_DTYPE_F32, WEFT_VPU_B_MODE_TENSOR))},
      {"sum", command_seed(WEFT_QUEUE_VPU, vpu(WEFT_OPCODE_REDUCE, WEFT_VPU_OP_SUM, WEFT_VPU_DTYPE_F32,
                                               WEFT_VPU_DTYPE_F32, WEFT_VPU_B_MODE_NONE))},
      {"cast", command_seed(WEFT_QUEUE_VPU, vpu(WEFT_OPCODE_CAST, WEFT_VPU_OP_NONE, WEFT_VPU_DTYPE_F32,
                                                WEFT_VPU_DTYPE_BF16, WEFT_VPU_B_MODE_NONE))},
      {"transpose", command_seed(WEFT_QUEUE_VPU, vpu(WEFT_OPCODE_TRANSPOSE, WEFT_VPU_OP_NONE, WEFT_VPU_DTYPE_F32,
                                                     WEFT_VPU_DTYPE_F32, WEFT_VPU_B_MODE_NONE))},
      {"signal", command_seed(WEFT_QUEUE_SYNC, test::posting(test::sync(WEFT_OPCODE_SIGNAL), 3))},
      {"fence", command_seed(WEFT_QUEUE_SYNC, test::waiting(test::sync(WEFT_OPCODE_FENCE), 3))},
  };
}

Seeds core_seeds() {
  const spec::Chip& chip = *spec::find_chip("nano");
  Bytes bytes;
  for (uint8_t i = 2; i < 4; i++) {  // operation kSegment counts from segment 1: segments 3 and 4
    append(bytes, CoreOperation::kSegment);
    append(bytes, i);
    append(bytes, uint32_t{i} << 13);
    append(bytes, uint32_t{1} << 13);
    append(bytes, uint8_t{WEFT_ADDRESS_SPACE_HBM | 4 | 8});
  }
  auto program = test::product(chip, 8, 2 * chip.n, 2);
  const Bytes mapped = bytes;
  for (uint8_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    for (spec::Command& command : program.queues[q]) {
      if (q == WEFT_QUEUE_DMA_OUT) command.bytes[17] = 4;  // the third segment of the product's bench
      append(bytes, CoreOperation::kPush);
      append(bytes, q);
      append(bytes, command);
    }
  }
  append(bytes, CoreOperation::kAdvance);
  append(bytes, uint8_t{200});
  Bytes faulty = mapped;
  append(faulty, CoreOperation::kPush);
  append(faulty, uint8_t{WEFT_QUEUE_DMA_IN});
  append(faulty, spec::encode(test::copy_in(9, 0, 0, 64)));
  append(faulty, CoreOperation::kReset);
  Bytes registers;
  for (const uint16_t offset : {WEFT_CSR_QUEUE_LOW, WEFT_CSR_WATCHDOG_LIMIT, WEFT_CSR_COUNTER_SNAPSHOT}) {
    append(registers, CoreOperation::kRegister);
    append(registers, offset);
    append(registers, uint64_t{100});
    append(registers, CoreOperation::kRead);
    append(registers, offset);
  }
  return {{"product", bytes}, {"refused", faulty}, {"registers", registers}};
}

Seeds firmware_seeds() {
  using mock::entry;
  Seeds seeds;
  HostScript launches;
  launches.sleep().load();
  for (int i = 0; i < 3; i++) launches.launch(1).launch(2);
  seeds["launches"] = launches.sleep().drain(1).drain(2).bytes;

  weft_submission_entry fill = entry(WEFT_QUEUE_OPCODE_FILL, 1);
  fill.arg0 = 0x5a5a5a5a;
  fill.arg1 = WEFT_LIMIT_ADDRESS_FLAG_HBM | 1u << 20;
  fill.size = 4096;
  weft_submission_entry copy = entry(WEFT_QUEUE_OPCODE_COPY, 2);
  copy.arg0 = mock::kLists;
  copy.arg1 = fill.arg1;
  copy.size = 4096;
  HostScript copies;
  copies.sleep().entry(1, fill).entry(1, copy).entry(1, entry(WEFT_QUEUE_OPCODE_FENCE, 3)).ring(1).sleep().drain(1);
  seeds["copies"] = copies.bytes;

  weft_submission_entry wait = entry(WEFT_QUEUE_OPCODE_WAIT, 1);
  wait.wait_id = 1;
  wait.wait_value = 2;
  weft_submission_entry signal = entry(WEFT_QUEUE_OPCODE_SIGNAL, 2);
  signal.signal_id = 1;
  signal.signal_value = 2;
  HostScript semaphores;
  semaphores.sleep().entry(1, wait).ring(1).sleep().entry(2, signal).ring(2).sleep().drain(1).drain(2);
  seeds["semaphores"] = semaphores.bytes;

  HostScript broken;
  broken.sleep().load().add(HostOperation::kCoreFault, uint8_t{WEFT_FAULT_RANGE}, uint8_t{0}, uint8_t{1});
  broken.launch(1).sleep().drain(1).add(HostOperation::kDoorbell, uint8_t{2}, uint32_t{0x8000'0000});
  broken.sleep().add(HostOperation::kBusError, uint8_t{2}).launch(1).sleep().drain(1);
  seeds["faults"] = broken.bytes;

  HostScript hang;
  hang.sleep().load().add(HostOperation::kCoreHang, uint8_t{1}, uint8_t{0}).launch(1).sleep();
  weft_submission_entry abort = entry(WEFT_ADMIN_OPCODE_ABORT, 3);
  abort.arg0 = 1;
  hang.entry(0, abort).ring(0).sleep().drain(0).drain(1);
  seeds["hang"] = hang.bytes;

  HostScript gone;
  gone.sleep().load().launch(1).add(HostOperation::kRequests, uint8_t{1}, uint8_t{1}).sleep();
  gone.add(HostOperation::kBoot, uint16_t{0}).sleep().add(HostOperation::kCreate, uint8_t{0}, uint8_t{4}, uint8_t{4});
  seeds["departed"] = gone.sleep().entry(1, entry(WEFT_QUEUE_OPCODE_NOP, 1)).ring(1).sleep().bytes;

  HostScript admin;
  for (uint8_t opcode = WEFT_ADMIN_OPCODE_CREATE_QUEUE; opcode < 24; opcode++) admin.entry(0, entry(opcode, opcode));
  seeds["admin"] = admin.ring(0).sleep().drain(0).bytes;
  return seeds;
}

}  // namespace weft::fuzz
