// Faults of the whole core: each kind stops it, is captured once, and a core reset makes it as new.
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <vector>

#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;
using bench::FaultInfo;
using bench::MatmulProgram;

struct FaultCase {
  const char* name;
  unsigned queue;
  spec::Command command;
  FaultInfo expected;  // cycle and count are not compared
};

spec::DmaCommand copy_in(uint16_t tag) {
  spec::DmaCommand copy;
  copy.header = bench::header(WEFT_OPCODE_COPY, tag, {});
  copy.src_seg = 1;
  copy.size0 = 64;
  return copy;
}

spec::MxuCommand product(uint16_t tag) {
  spec::MxuCommand matmul;
  matmul.header = bench::header(WEFT_OPCODE_MATMUL, tag, {});
  matmul.k = 8, matmul.m = 8, matmul.cols = 8, matmul.x_row_stride = 1, matmul.dtype = WEFT_MXU_DTYPE_BF16;
  return matmul;
}

spec::VpuCommand epilogue(uint16_t tag) {
  spec::VpuCommand vpu;
  vpu.header = bench::header(WEFT_OPCODE_EPILOGUE, tag, {});
  vpu.src_space = WEFT_VPU_SPACE_ACC, vpu.src_dtype = WEFT_VPU_DTYPE_F32, vpu.dst_dtype = WEFT_VPU_DTYPE_F32;
  vpu.rows = 4, vpu.cols = 8, vpu.a_stride = 1, vpu.d_stride = 2;
  return vpu;
}

template <typename T>
spec::Command changed(T command, const std::function<void(T&)>& change) {
  change(command);
  return encode(command);
}

std::vector<FaultCase> fault_cases(const spec::Chip& chip) {
  using Dma = spec::DmaCommand;
  using Mxu = spec::MxuCommand;
  using Vpu = spec::VpuCommand;
  const uint64_t vmem = chip.vmem_bytes;
  std::vector<FaultCase> cases;
  auto add = [&](const char* name, unsigned queue, const spec::Command& command, weft_fault code, unsigned unit,
                 uint64_t address) {
    cases.push_back({name, queue, command, {code, unit, queue, spec::decode_header(command).tag, address, 0, 0}});
  };
  add("opcode 0", WEFT_QUEUE_MXU, spec::Command{}, WEFT_FAULT_ILLEGAL_OPCODE, WEFT_UNIT_MXU, 0);
  add("a product on the VPU's queue", WEFT_QUEUE_VPU, encode(product(3)), WEFT_FAULT_ILLEGAL_OPCODE, WEFT_UNIT_VPU,
      WEFT_OPCODE_MATMUL);
  add("an opcode that is not built", WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_BARRIER, 4),
      WEFT_FAULT_ILLEGAL_OPCODE, WEFT_UNIT_SYNC, WEFT_OPCODE_BARRIER);
  add("a flag that is not built", WEFT_QUEUE_DMA_OUT, changed<Dma>(copy_in(5), [](Dma& c) { c.header.flags = 1; }),
      WEFT_FAULT_ILLEGAL_FIELD, WEFT_UNIT_DMA2, 1);
  add("size 0", WEFT_QUEUE_DMA_IN, changed<Dma>(copy_in(6), [](Dma& c) { c.size2 = 0; }), WEFT_FAULT_ILLEGAL_FIELD,
      WEFT_UNIT_DMA0, 36);
  add("k 0", WEFT_QUEUE_MXU, changed<Mxu>(product(7), [](Mxu& c) { c.k = 0; }), WEFT_FAULT_ILLEGAL_FIELD, WEFT_UNIT_MXU,
      36);
  add("an op in an epilogue", WEFT_QUEUE_VPU, changed<Vpu>(epilogue(8), [](Vpu& c) { c.op = WEFT_VPU_OP_ADD; }),
      WEFT_FAULT_ILLEGAL_FIELD, WEFT_UNIT_VPU, 16);
  add("a size of 8 bytes more", WEFT_QUEUE_DMA_IN, changed<Dma>(copy_in(9), [](Dma& c) { c.size0 = 72; }),
      WEFT_FAULT_ALIGNMENT, WEFT_UNIT_DMA0, 30);
  add("an odd row of f32", WEFT_QUEUE_VPU, changed<Vpu>(epilogue(10), [](Vpu& c) { c.d_addr = 1; }),
      WEFT_FAULT_ALIGNMENT, WEFT_UNIT_VPU, 40);
  add("a segment that is not mapped", WEFT_QUEUE_DMA_IN, changed<Dma>(copy_in(11), [](Dma& c) { c.src_seg = 9; }),
      WEFT_FAULT_SEGMENT, WEFT_UNIT_DMA0, 9);
  add("a byte beyond a segment", WEFT_QUEUE_DMA_IN,
      changed<Dma>(copy_in(12), [](Dma& c) { c.src_off = bench::SimpleBus::kBytes - 48; }), WEFT_FAULT_RANGE,
      WEFT_UNIT_DMA0, bench::SimpleBus::kBytes);
  add("a word beyond VMEM", WEFT_QUEUE_MXU, changed<Mxu>(product(13), [&](Mxu& c) { c.x_addr = chip.vmem_words - 7; }),
      WEFT_FAULT_RANGE, WEFT_UNIT_MXU, vmem);
  add("a result beyond VMEM", WEFT_QUEUE_VPU,
      changed<Vpu>(epilogue(14), [&](Vpu& c) { c.d_addr = chip.vmem_words - 6; }), WEFT_FAULT_RANGE, WEFT_UNIT_VPU,
      vmem);
  add("rows across banks", WEFT_QUEUE_MXU,
      changed<Mxu>(product(15), [&](Mxu& c) { c.acc_row = static_cast<uint16_t>(chip.acc_bank_rows - 7); }),
      WEFT_FAULT_ACC_RANGE, WEFT_UNIT_MXU, chip.acc_bank_rows - 7);
  return cases;
}

void check_fault(CoreBench& bench, const FaultInfo& expected) {
  const FaultInfo info = bench::fault(bench);
  CHECK(info.code == expected.code);
  CHECK(info.unit == expected.unit);
  CHECK(info.queue == expected.queue);
  CHECK(info.tag == expected.tag);
  CHECK(info.address == expected.address);
  CHECK(info.count == 1);
  CHECK((bench.read(WEFT_CSR_STATUS) & 6) == 6);
  CHECK((bench.read(WEFT_CSR_INTERRUPT) & 1) == 1);
}

/// After a reset the core is as new.
void check_works(CoreBench& bench) {
  bench.reset();
  CHECK(bench.read(WEFT_CSR_STATUS) == 0);
  CHECK(bench.read(WEFT_CSR_FAULT_CODE) == 0);
  CHECK(bench.read(WEFT_CSR_FAULT_COUNT) == 0);
  CHECK(bench.read(WEFT_CSR_INTERRUPT) == 0);
  const MatmulProgram program{.m = 12, .tiles = 2, .cols = 8};
  program.place(bench, 77);
  REQUIRE(program.push(bench));
  REQUIRE(bench.run());
  REQUIRE(bench.read(WEFT_CSR_FAULT_CODE) == 0);
  CHECK(program.result(bench) == program.expected(bench));
}

}  // namespace

TEST_CASE(
    "each kind of refusal stops the core, is reported by code, unit, queue, tag and address, and a reset heals it") {
  CoreBench bench("nano");
  for (const FaultCase& c : fault_cases(bench.chip)) {
    INFO(c.name);
    REQUIRE(bench.push(c.queue, c.command));
    const uint64_t pushed = bench.core->cycle();
    REQUIRE(bench.run(10000));
    check_fault(bench, c.expected);
    CHECK(bench::fault(bench).cycle >= pushed);
    CHECK(bench::fault(bench).cycle < pushed + 40);
    check_works(bench);
  }
}

TEST_CASE("a refused command writes nothing and no queue issues after it") {
  CoreBench bench("nano");
  auto bad = copy_in(20);
  bad.size1 = 2, bad.src_stride1 = bench::SimpleBus::kBytes;  // the second run is outside
  REQUIRE(bench.push(WEFT_QUEUE_DMA_IN, encode(bad)));
  REQUIRE(bench.run());
  bench.bus.memory(WEFT_ADDRESS_SPACE_HBM)[0] = std::byte{1};
  std::vector<std::byte> vmem(64);
  REQUIRE(bench.core->peek_vmem(0, vmem));
  for (const auto byte : vmem) CHECK(byte == std::byte{0});
  REQUIRE(
      bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_SIGNAL, 21, {.post0 = 1, .post_count0 = 1})));
  bench.skip(1000);
  CHECK(bench.read(WEFT_CSR_SEMAPHORE + 8) == 0);
  CHECK(bench.read(WEFT_CSR_QUEUE_LEVEL + 8 * WEFT_QUEUE_SYNC) == 1);
  CHECK(bench.read(WEFT_CSR_QUEUE_HEAD_TAG + 8 * WEFT_QUEUE_SYNC) == (0x10000 | 21));
  CHECK(bench.read(WEFT_CSR_STATUS) == 7);
}

TEST_CASE("a post that would overflow is a fault with the command's tag, and neither semaphore is posted") {
  CoreBench bench("nano");
  bench.write(WEFT_CSR_SEMAPHORE + 8 * 6, 65535);
  REQUIRE(bench.push(
      WEFT_QUEUE_SYNC,
      bench::sync_command(WEFT_OPCODE_SIGNAL, 30, {.post0 = 5, .post_count0 = 1, .post1 = 6, .post_count1 = 1})));
  REQUIRE(bench.run());
  check_fault(bench, {WEFT_FAULT_SEMAPHORE_OVERFLOW, WEFT_UNIT_SYNC, WEFT_QUEUE_SYNC, 30, 6, 0, 0});
  CHECK(bench.read(WEFT_CSR_SEMAPHORE + 8 * 5) == 0);
  CHECK(bench.read(WEFT_CSR_SEMAPHORE + 8 * 6) == 65535);
  CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_SYNC) == 0);
  check_works(bench);
}

TEST_CASE("an error of the memory is a DMA_BUS fault with the bus address of the beat, reading and writing") {
  CoreBench bench("nano");
  bench.bus.bad_address = 0x1000 + 4 * 64 + 5;
  auto in = copy_in(40);
  in.src_off = 0x1000, in.size0 = 1024;
  REQUIRE(bench.push(WEFT_QUEUE_DMA_IN, encode(in)));
  REQUIRE(bench.run());
  check_fault(bench, {WEFT_FAULT_DMA_BUS, WEFT_UNIT_DMA0, WEFT_QUEUE_DMA_IN, 40, 0x1000 + 4 * 64, 0, 0});
  check_works(bench);
  auto out = copy_in(41);
  out.src_seg = 0, out.dst_seg = 1, out.dst_off = 0x1000, out.size0 = 1024;
  REQUIRE(bench.push(WEFT_QUEUE_DMA_OUT, encode(out)));
  REQUIRE(bench.run());
  check_fault(bench, {WEFT_FAULT_DMA_BUS, WEFT_UNIT_DMA2, WEFT_QUEUE_DMA_OUT, 41, 0x1000 + 4 * 64, 0, 0});
  bench.bus.bad_address = UINT64_MAX;
  check_works(bench);
}

TEST_CASE("a semaphore that is never posted ends in a WATCHDOG fault after the limit, slow work does not") {
  CoreBench bench("nano");
  bench.write(WEFT_CSR_WATCHDOG_LIMIT, 3000);
  const MatmulProgram program{.m = 64, .tiles = 5, .cols = 8};
  program.place(bench, 1);
  for (unsigned i = 0; i < 8; i++)
    REQUIRE(program.push(bench));  // far more than 3000 cycles, never 3000 without progress
  REQUIRE(bench.run());
  REQUIRE(bench.read(WEFT_CSR_FAULT_CODE) == 0);
  const uint64_t pushed = bench.core->cycle();
  REQUIRE(bench.push(WEFT_QUEUE_VPU, encode([] {
                       auto command = epilogue(50);
                       command.header.wait_sem0 = 33, command.header.wait_count0 = 1;
                       return command;
                     }())));
  REQUIRE(bench.run(5000));
  check_fault(bench, {WEFT_FAULT_WATCHDOG, WEFT_UNIT_VPU, WEFT_QUEUE_VPU, 50, 0, 0, 0});
  CHECK(bench::fault(bench).cycle >= pushed + 3000);
  CHECK(bench::fault(bench).cycle < pushed + 3010);
  check_works(bench);
  bench.write(WEFT_CSR_WATCHDOG_LIMIT, 0);
  REQUIRE(bench.push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_WAIT, 51, {.wait0 = 1, .wait_count0 = 1})));
  CHECK_FALSE(bench.run(20000));
  CHECK(bench.read(WEFT_CSR_FAULT_CODE) == 0);
}

TEST_CASE("the first of several faults is kept and all are counted") {
  CoreBench bench("nano");
  REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_BARRIER, 60)));
  REQUIRE(bench.core->push(WEFT_QUEUE_DMA_OUT, spec::Command{}));
  REQUIRE(bench.run());
  CHECK(bench::fault(bench).tag == 60);
  CHECK(bench::fault(bench).count == 1);  // the second was pushed a cycle later and never checked: the core had stopped
  bench.write(WEFT_CSR_CONTROL, 2);
  bench.skip(2);
  CHECK(bench.read(WEFT_CSR_FAULT_COUNT) == 0);
  CHECK(bench::fault(bench).tag == 60);
}

TEST_CASE("a reset in the middle of work drops it, and the core works again") {
  CoreBench bench("nano");
  for (const unsigned cycles : {5u, 100u, 430u, 470u, 600u, 900u}) {
    const MatmulProgram program{.m = 64, .tiles = 4, .cols = 8};
    program.place(bench, cycles);
    REQUIRE(program.push(bench));
    bench.skip(cycles);
    check_works(bench);
  }
}

TEST_CASE("units that did not fault finish what they have") {
  CoreBench bench("nano");
  auto in = copy_in(70);
  in.size0 = 4096;
  REQUIRE(bench.core->push(WEFT_QUEUE_DMA_IN, encode(in)));
  bench.skip(20);
  REQUIRE(bench.core->push(WEFT_QUEUE_MXU, spec::Command{}));
  REQUIRE(bench.run());
  CHECK(bench::fault(bench).code == WEFT_FAULT_ILLEGAL_OPCODE);
  CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_DMA_IN) == 1);
}
