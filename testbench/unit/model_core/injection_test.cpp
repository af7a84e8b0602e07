// Fault injection and ECC, through the registers: each kind on the RTL and on the fast core, with the same expectations
// and the same outcome, to the cycle and the counter.
#include <catch2/catch.hpp>
#include <functional>

#include "testbench/unit/model_core/injection_bench.hpp"
#include "weft/spec/names.hpp"

namespace {

using namespace weft;
using namespace weft::bench;

constexpr uint64_t kWatchdog = 5000;
// 12 rows, 3 K tiles, 5 of 8 columns: VMEM words 0 to 35 hold x, 36 to 59 the weights, 60 and 61 the bias, 62 on y.
constexpr MatmulProgram kProgram{.m = 12, .tiles = 3, .cols = 5};
constexpr uint64_t kWord = 16, kX = 0, kW = 36 * kWord, kBias = 60 * kWord, kY = 62 * kWord;
constexpr uint64_t kAccFault = uint64_t{1} << 63;
constexpr unsigned kBankRows = 64;  // of ACC: nano's
enum Tag : uint16_t { kTagX = 1, kTagW, kTagBias, kTagProduct, kTagEpilogue, kTagY };

/// Injects on an idle core, runs the program, and looks.
Outcome run(core::CoreKind kind, const std::vector<Injection>& injections, const MatmulProgram& program) {
  CoreBench bench("nano", kind);
  program.place(bench, 3);
  bench.write(WEFT_CSR_WATCHDOG_LIMIT, kWatchdog);
  for (const Injection& i : injections) inject(bench, i);
  REQUIRE(program.push(bench));
  REQUIRE(bench.run(200'000));
  bench.skip(100);
  Outcome o = outcome(bench);
  o.right = program.result(bench) == program.expected(bench);
  return o;
}

/// One command on a core whose VMEM is all zero but for what is injected.
Outcome run(core::CoreKind kind, const std::vector<Injection>& injections, unsigned queue,
            const spec::Command& command) {
  CoreBench bench("nano", kind);
  for (const Injection& i : injections) inject(bench, i);
  REQUIRE(bench.push(queue, command));
  REQUIRE(bench.run(200'000));
  return outcome(bench);
}
Outcome run(core::CoreKind kind, const std::vector<Injection>& injections, const spec::VpuCommand& command) {
  return run(kind, injections, WEFT_QUEUE_VPU, encode(command));
}
Outcome run(core::CoreKind kind, const std::vector<Injection>& injections, const spec::MxuCommand& command) {
  return run(kind, injections, WEFT_QUEUE_MXU, encode(command));
}

/// The outcome on both cores, which is one.
template <typename Work>
Outcome run_both(const std::vector<Injection>& injections, const Work& work) {
  const Outcome rtl = run(core::CoreKind::kRtl, injections, work), fast = run(core::CoreKind::kFast, injections, work);
  CHECK(rtl.fault.code == fast.fault.code);
  CHECK(rtl.fault.unit == fast.fault.unit);
  CHECK(rtl.fault.queue == fast.fault.queue);
  CHECK(rtl.fault.tag == fast.fault.tag);
  CHECK(rtl.fault.address == fast.fault.address);
  CHECK(rtl.fault.cycle == fast.fault.cycle);
  CHECK(rtl.fault.count == fast.fault.count);
  CHECK(rtl.retired == fast.retired);
  CHECK(rtl.status == fast.status);
  CHECK(rtl.inject_status == fast.inject_status);
  CHECK(rtl.last_retire == fast.last_retire);
  CHECK(rtl.idle == fast.idle);
  for (unsigned i = 0; i < WEFT_COUNTERS; i++) {
    INFO(spec::counter_name(i));
    CHECK(rtl.counters[i] == fast.counters[i]);
  }
  CHECK((rtl.hbm == fast.hbm));
  CHECK((rtl.vmem == fast.vmem));
  CHECK((rtl.acc == fast.acc));
  return rtl;
}
Outcome run_both(const std::vector<Injection>& injections) { return run_both(injections, kProgram); }

Injection vmem_flip(uint64_t address, uint64_t data, uint64_t check = 0, uint32_t n = 1) {
  return {.kind = WEFT_INJECT_KIND_VMEM_FLIP, .address = address, .data = data, .check = check, .n = n};
}
Injection acc_flip(unsigned row, unsigned column, uint64_t data, uint64_t check = 0, uint32_t n = 1) {
  return {
      .kind = WEFT_INJECT_KIND_ACC_FLIP, .address = row | uint64_t{column} << 16, .data = data, .check = check, .n = n};
}

struct Stopped {
  unsigned unit, queue, tag;
  uint64_t address;
};
void check_ecc_fault(const Outcome& o, const Stopped& expected) {
  CHECK(o.fault.code == WEFT_FAULT_ECC_UNCORRECTABLE);
  CHECK(o.fault.unit == expected.unit);
  CHECK(o.fault.queue == expected.queue);
  CHECK(o.fault.tag == expected.tag);
  CHECK(o.fault.address == expected.address);
  CHECK(o.fault.count == 1);
  CHECK(o.idle);
}

}  // namespace

TEST_CASE("a single error anywhere is corrected: the result is right, and the reads are counted") {
  const auto check = [](const Injection& injection, unsigned counter, uint64_t reads) {
    INFO("address " << injection.address << ", data " << injection.data << ", check " << injection.check);
    const Outcome o = run_both({injection});
    CHECK(o.right);
    CHECK(o.fault.code == 0);
    CHECK(o.inject_status == uint64_t{1} << (16 + injection.kind));
    for (unsigned c = WEFT_COUNTER_ECC_VMEM_CORRECTED; c <= WEFT_COUNTER_ECC_ACC_UNCORRECTABLE; c++) {
      INFO(spec::counter_name(c));
      CHECK(o.counters[c] == (c == counter ? reads : 0));
    }
  };
  check(vmem_flip(kX + 7 * kWord, 1), WEFT_COUNTER_ECC_VMEM_CORRECTED, 1);
  check(vmem_flip(kX + 35 * kWord + 8, uint64_t{1} << 63), WEFT_COUNTER_ECC_VMEM_CORRECTED, 1);
  check(vmem_flip(kW + 9 * kWord, 0, 0x80), WEFT_COUNTER_ECC_VMEM_CORRECTED, 1);
  check(vmem_flip(kBias + 8, 1 << 30), WEFT_COUNTER_ECC_VMEM_CORRECTED, 1);
  check(vmem_flip(kY + 3 * kWord + 8, 1 << 9), WEFT_COUNTER_ECC_VMEM_CORRECTED, 1);
  // ACC: the write of tile 0 is read by the seeds of tile 1, that of tile 2 by the VPU; no other write is read twice
  check(acc_flip(4, 2, 1u << 31, 0, 1), WEFT_COUNTER_ECC_ACC_CORRECTED, 1);
  check(acc_flip(11, 7, 0, 1, 3), WEFT_COUNTER_ECC_ACC_CORRECTED, 1);
  // overwritten or never read: nobody notices
  check(vmem_flip(kX, 1, 0, 0), WEFT_COUNTER_ECC_VMEM_CORRECTED, 0);
  check(acc_flip(4, 2, 1, 0, 0), WEFT_COUNTER_ECC_ACC_CORRECTED, 0);
  check(vmem_flip(200 * kWord, 1, 0, 0), WEFT_COUNTER_ECC_VMEM_CORRECTED, 0);
}

TEST_CASE("a double error that a command uses is its fault, with the address of the granule or row") {
  const Stopped product{WEFT_UNIT_MXU, WEFT_QUEUE_MXU, kTagProduct, 0};
  const Stopped epilogue{WEFT_UNIT_VPU, WEFT_QUEUE_VPU, kTagEpilogue, 0};
  const auto check = [](const Injection& injection, Stopped expected) {
    expected.address =
        injection.kind == WEFT_INJECT_KIND_ACC_FLIP ? kAccFault | (injection.address & 0xffff) : injection.address;
    INFO("address " << injection.address << ", write " << injection.n);
    check_ecc_fault(run_both({injection}), expected);
  };
  for (const uint64_t row : {0u, 1u, 11u, 12u, 17u, 35u})
    for (const uint64_t half : {0u, 8u}) check(vmem_flip(kX + row * kWord + half, 0x8001), product);
  for (const uint64_t row : {0u, 7u, 8u, 12u, 23u}) check(vmem_flip(kW + row * kWord + 8, 0x1, 0x10), product);
  for (const unsigned row : {0u, 5u, 11u})
    for (const uint32_t write : {1u, 2u}) check(acc_flip(row, row % 5, 3, 0, write), product);
  for (const unsigned row : {0u, 1u, 2u, 10u, 11u}) check(acc_flip(row, 4, 0, 0x41, 3), epilogue);
  check(vmem_flip(kBias, 3), epilogue);
  check(vmem_flip(kBias + kWord, 3), epilogue);
  for (const unsigned row : {0u, 1u, 7u, 11u})
    check(vmem_flip(kY + 2 * row * kWord + 8 * (row % 4), 0x300), {WEFT_UNIT_DMA2, WEFT_QUEUE_DMA_OUT, kTagY, 0});
}

TEST_CASE("a fault of ECC is counted once and its interrupt can be cleared while other units go on") {
  // The core is clocked long after the fault: a copy is under way.
  spec::DmaCommand copy;
  copy.header = header(WEFT_OPCODE_COPY, 9, {});
  copy.src_seg = 1, copy.size0 = 128 * 1024, copy.dst_off = 64 * 1024;
  for (const Injection& injection : {acc_flip(5, 2, 3, 0, 1), acc_flip(6, 1, 3, 0, 3), vmem_flip(kX + 5 * kWord, 3),
                                     vmem_flip(kW + 9 * kWord, 3), vmem_flip(kBias, 3)}) {
    INFO("address " << injection.address << ", write " << injection.n);
    std::vector<Outcome> outcomes;
    for (const auto kind : {core::CoreKind::kRtl, core::CoreKind::kFast}) {
      CoreBench bench("nano", kind);
      kProgram.place(bench, 3);
      inject(bench, injection);
      REQUIRE(kProgram.push(bench));
      REQUIRE(bench.push(WEFT_QUEUE_DMA_IN, encode(copy)));
      while (bench.core->busy() && fault(bench).code == 0) bench.skip(1);
      CHECK(bench.core->busy());
      bench.skip(10);
      bench.write(WEFT_CSR_INTERRUPT, 7);
      bench.skip(2);
      CHECK_FALSE(bench.core->interrupt());
      while (bench.core->busy()) bench.skip(100);
      CHECK((bench.read(WEFT_CSR_INTERRUPT) & 1) == 0);
      CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_DMA_IN) == 4);
      outcomes.push_back(outcome(bench));
      CHECK(outcomes.back().fault.code == WEFT_FAULT_ECC_UNCORRECTABLE);
      CHECK(outcomes.back().fault.count == 1);
    }
    CHECK(outcomes[0].fault.cycle == outcomes[1].fault.cycle);
    CHECK(outcomes[0].last_retire == outcomes[1].last_retire);
    CHECK(outcomes[0].counters == outcomes[1].counters);
    CHECK((outcomes[0].vmem == outcomes[1].vmem));
    CHECK((outcomes[0].acc == outcomes[1].acc));
  }
}

TEST_CASE("a double error in a partial tile is a fault if a PE row below K or a lane below cols uses it") {
  for (const auto dtype : {WEFT_MXU_DTYPE_BF16, WEFT_MXU_DTYPE_INT8})
    for (const unsigned pe_rows : {1u, 3u, 4u, 5u, 7u, 8u})
      for (const unsigned granule : {0u, 1u}) {
        spec::MxuCommand product;  // two tiles of x at word 0, weights at word 100
        product.header = header(WEFT_OPCODE_MATMUL, 7, {});
        product.x_row_stride = 2, product.x_tile_stride = 1, product.w_addr = 100, product.w_tile_stride = 8;
        product.m = 3, product.cols = static_cast<uint16_t>(pe_rows), product.dtype = static_cast<uint8_t>(dtype);
        product.k = (8 + pe_rows) * (dtype == WEFT_MXU_DTYPE_INT8 ? 2 : 1);
        for (const uint64_t address : {3 * kWord + 8 * granule, 109 * kWord + 8 * granule}) {
          if (address >= 100 * kWord && pe_rows == 1) continue;  // the last tile has one word of weights, 108
          INFO("PE rows and columns " << pe_rows << ", address " << address << ", dtype " << static_cast<int>(dtype));
          const Outcome o = run_both({vmem_flip(address, 5, 0, 0)}, product);
          if (4 * granule < pe_rows)
            check_ecc_fault(o, {WEFT_UNIT_MXU, WEFT_QUEUE_MXU, 7, address});
          else
            CHECK(o.fault.code == 0);
        }
      }
}

TEST_CASE("a double error in what no command uses is no fault: lanes at or beyond cols, words never read") {
  for (const Injection& injection : {vmem_flip(kBias + kWord + 8, 3), acc_flip(3, 5, 3, 0, 1), acc_flip(3, 7, 3, 0, 3),
                                     vmem_flip(200 * kWord, 3), acc_flip(kBankRows + 4, 2, 3, 0, 1)}) {
    INFO("address " << injection.address);
    const Outcome o = run_both({injection});
    CHECK(o.fault.code == 0);
    CHECK(o.right);
  }
}

TEST_CASE("a double error in any lane of a row of ACC stops the epilogue that reads all of them") {
  constexpr MatmulProgram kWide{.m = 12, .tiles = 3, .cols = 8};
  for (unsigned lane = 0; lane < 8; lane++) {
    INFO("lane " << lane);
    check_ecc_fault(run_both({acc_flip(9, lane, 3, 0, 3)}, kWide),
                    {WEFT_UNIT_VPU, WEFT_QUEUE_VPU, kTagEpilogue, kAccFault | 9});
  }
}

TEST_CASE("a double error in an operand of the VPU is its fault, with the address of the granule") {
  spec::VpuCommand add;  // d = a + b, rows of four granules
  add.header = header(WEFT_OPCODE_ELEMENTWISE, 7, {});
  add.op = WEFT_VPU_OP_ADD, add.src_dtype = add.dst_dtype = WEFT_VPU_DTYPE_F32;
  add.rows = 6, add.cols = 8, add.b_mode = WEFT_VPU_B_MODE_TENSOR;
  add.a_addr = 100, add.b_addr = 200, add.d_addr = 300, add.a_stride = add.b_stride = add.d_stride = 2;
  for (const uint64_t word : {100u, 200u})
    for (const uint64_t row : {0u, 3u, 5u})
      for (uint64_t granule = 0; granule < 4; granule++) {
        const uint64_t address = (word + 2 * row) * kWord + 8 * granule;
        INFO("address " << address);
        check_ecc_fault(run_both({vmem_flip(address, 5, 0, 0)}, add), {WEFT_UNIT_VPU, WEFT_QUEUE_VPU, 7, address});
      }
}

TEST_CASE("a double error counts in every element of a column operand, of more than 2^15 rows too") {
  constexpr unsigned kRows = 0x8000 + 4;
  spec::VpuCommand add;  // every row to the same place: row r adds element r of the column
  add.header = header(WEFT_OPCODE_ELEMENTWISE, 7, {});
  add.op = WEFT_VPU_OP_ADD, add.src_dtype = add.dst_dtype = WEFT_VPU_DTYPE_F32;
  add.rows = kRows, add.cols = 8, add.b_mode = WEFT_VPU_B_MODE_COLUMN;
  add.a_addr = 0, add.d_addr = 2, add.b_addr = 4, add.b_stride = 2;
  const auto flip = [](unsigned element) { return vmem_flip(4 * kWord + element / 2 * 8, 5, 0, 0); };
  for (const unsigned element : {0u, 6u, 8u, 20u, kRows - 1}) {
    const Injection injection = flip(element);
    INFO("element " << element);
    check_ecc_fault(run_both({injection}, add), {WEFT_UNIT_VPU, WEFT_QUEUE_VPU, 7, injection.address});
  }
  CHECK(run_both({flip(kRows + 1)}, add).fault.code == 0);  // beyond the last element
}

TEST_CASE("a bus error finds its command and beat after a reset with commands under way") {
  for (const auto kind : {core::CoreKind::kRtl, core::CoreKind::kFast}) {
    CoreBench bench("nano", kind);
    kProgram.place(bench, 3);
    spec::DmaCommand copy;
    copy.header = header(WEFT_OPCODE_COPY, 9, {});
    copy.src_seg = 1, copy.size0 = 16 * 1024;
    for (unsigned i = 0; i < 9; i++) REQUIRE(bench.push(WEFT_QUEUE_DMA_IN, encode(copy)));
    bench.skip(60);  // both channels hold commands that they have not begun
    bench.reset();
    inject(bench, {.kind = WEFT_INJECT_KIND_BUS_ERROR, .queue = WEFT_QUEUE_DMA_IN, .n = 1, .beat = 14});
    REQUIRE(kProgram.push(bench));
    REQUIRE(bench.run(200'000));
    CHECK(fault(bench).code == WEFT_FAULT_DMA_BUS);
    CHECK(fault(bench).tag == kTagX);
    CHECK(fault(bench).address == kProgram.x_address + 48 + 16);
  }
}

TEST_CASE("what comes before a poisoned row is written and nothing after it") {
  const Outcome good = run_both({});
  const Outcome o = run_both({acc_flip(6, 1, 3, 0, 3)});  // row 6 of the epilogue
  const auto row = [](const Outcome& from, unsigned r) {
    return std::vector<std::byte>(from.vmem.begin() + static_cast<ptrdiff_t>(kY + 2 * r * kWord),
                                  from.vmem.begin() + static_cast<ptrdiff_t>(kY + 2 * (r + 1) * kWord));
  };
  for (unsigned r = 0; r < 6; r++) CHECK(row(o, r) == row(good, r));
  for (unsigned r = 6; r < 12; r++) CHECK(row(o, r) == std::vector<std::byte>(2 * kWord));
}

TEST_CASE("a unit that is never ready, never done, or whose done is lost ends in WATCHDOG") {
  const auto check = [](weft_inject_kind kind, unsigned queue, uint32_t n, unsigned tag) {
    INFO("kind " << kind << ", queue " << spec::queue_name(queue) << ", command " << n);
    const Outcome o = run_both({{.kind = kind, .queue = queue, .n = n}});
    CHECK(o.fault.code == WEFT_FAULT_WATCHDOG);
    CHECK(o.fault.queue == queue);
    CHECK(o.fault.tag == tag);
    CHECK(o.idle);
    CHECK((o.inject_status >> (16 + kind) & 1) == 1);
  };
  for (const auto kind : {WEFT_INJECT_KIND_NOT_READY, WEFT_INJECT_KIND_NOT_DONE, WEFT_INJECT_KIND_LOST_DONE}) {
    check(kind, WEFT_QUEUE_MXU, 1, kTagProduct);
    check(kind, WEFT_QUEUE_VPU, 1, kTagEpilogue);
    check(kind, WEFT_QUEUE_DMA_OUT, 1, kTagY);
  }
  check(WEFT_INJECT_KIND_NOT_READY, WEFT_QUEUE_DMA_IN, 2, kTagW);
  check(WEFT_INJECT_KIND_NOT_DONE, WEFT_QUEUE_DMA_IN, 1, kTagX);
  // the bias follows x on one channel and is done for it: x posts, the bias never does
  check(WEFT_INJECT_KIND_LOST_DONE, WEFT_QUEUE_DMA_IN, 1, kTagBias);
}

TEST_CASE("a lost post leaves its waiter to the WATCHDOG") {
  const Outcome o = run_both({{.kind = WEFT_INJECT_KIND_LOST_POST, .queue = WEFT_QUEUE_MXU, .n = 1}});
  CHECK(o.fault.code == WEFT_FAULT_WATCHDOG);
  CHECK(o.fault.queue == WEFT_QUEUE_VPU);
  CHECK(o.fault.tag == kTagEpilogue);
  CHECK(o.retired[WEFT_QUEUE_MXU] == 1);
}

TEST_CASE("a bus error on the n-th beat of the n-th command is DMA_BUS at that beat's address") {
  const auto check = [](unsigned queue, uint32_t command, uint32_t beat, unsigned tag, uint64_t address) {
    INFO("queue " << queue << ", command " << command << ", beat " << beat);
    const Outcome o = run_both({{.kind = WEFT_INJECT_KIND_BUS_ERROR, .queue = queue, .n = command, .beat = beat}});
    CHECK(o.fault.code == WEFT_FAULT_DMA_BUS);
    CHECK(o.fault.queue == queue);
    CHECK(o.fault.tag == tag);
    CHECK(o.fault.address == address);
  };
  check(WEFT_QUEUE_DMA_IN, 1, 1, kTagX, kProgram.x_address);
  check(WEFT_QUEUE_DMA_IN, 1, 14, kTagX, kProgram.x_address + 48 + 16);
  check(WEFT_QUEUE_DMA_IN, 2, 3, kTagW, kProgram.w_address + 2 * 64);
  check(WEFT_QUEUE_DMA_OUT, 1, 6, kTagY, kProgram.y_address + 5 * 64);
  // a beat that the command does not have
  CHECK(run_both({{.kind = WEFT_INJECT_KIND_BUS_ERROR, .queue = WEFT_QUEUE_DMA_OUT, .n = 1, .beat = 7}}).right);
}

TEST_CASE("every fault code can be raised at the n-th command of a queue") {
  for (unsigned code = 1; code <= WEFT_LAST_FAULT; code++) {
    const unsigned queue = code % 4;
    INFO(spec::fault_name(code) << " on " << spec::queue_name(queue));
    const uint32_t n = queue == WEFT_QUEUE_DMA_IN ? 3 : 1;
    constexpr std::array<unsigned, 4> kTags{kTagBias, kTagProduct, kTagEpilogue, kTagY};
    const Outcome o =
        run_both({{.kind = WEFT_INJECT_KIND_RAISE, .address = 0x1234567890, .queue = queue, .code = code, .n = n}});
    CHECK(o.fault.code == code);
    CHECK(o.fault.queue == queue);
    CHECK(o.fault.tag == kTags[queue]);
    CHECK(o.fault.address == 0x1234567890);
    CHECK(o.fault.count == 1);
  }
}

TEST_CASE("INJECT registers: what is written is read, what does not exist is refused, reset disarms") {
  for (const auto kind : {core::CoreKind::kRtl, core::CoreKind::kFast}) {
    CoreBench bench("nano", kind);
    const uint64_t refused = uint64_t{1} << 32;
    for (uint32_t offset = WEFT_CSR_INJECT_ADDRESS; offset <= WEFT_CSR_INJECT_PLACE; offset += 8) {
      bench.write(offset, 0x0123456789abcdef + offset);
      CHECK(bench.read(offset) == 0x0123456789abcdef + offset);
    }
    CHECK(bench.read(WEFT_CSR_INJECT_ARM) == 0);
    bench.write(WEFT_CSR_INJECT_STATUS, UINT64_MAX);
    CHECK(bench.read(WEFT_CSR_INJECT_STATUS) == 0);
    const auto rows = 2 * bench.chip.acc_bank_rows;
    const std::vector<Injection> illegal{
        vmem_flip(bench.chip.vmem_bytes, 1),
        vmem_flip(4, 1),
        vmem_flip(0, 0),
        vmem_flip(0, 7),
        vmem_flip(0, 0, 0x100),
        vmem_flip(0, 3, 1),
        acc_flip(rows, 0, 1),
        acc_flip(0, bench.chip.n, 1),
        acc_flip(0, 0, uint64_t{1} << 32),
        acc_flip(0, 0, 0, 0x80),
        acc_flip(0, 0, 0),
        {.kind = WEFT_INJECT_KIND_NOT_READY, .queue = 5, .n = 1},
        {.kind = WEFT_INJECT_KIND_NOT_DONE, .queue = 1, .n = 0},
        {.kind = WEFT_INJECT_KIND_BUS_ERROR, .queue = WEFT_QUEUE_MXU, .n = 1, .beat = 1},
        {.kind = WEFT_INJECT_KIND_BUS_ERROR, .queue = 0, .n = 1, .beat = 0},
        {.kind = WEFT_INJECT_KIND_RAISE, .queue = 0, .code = 0, .n = 1},
        {.kind = WEFT_INJECT_KIND_RAISE, .queue = 0, .code = WEFT_LAST_FAULT + 1, .n = 1},
        {.kind = static_cast<weft_inject_kind>(9), .queue = 0, .n = 1}};
    for (const Injection& i : illegal) {
      INFO("kind " << i.kind << ", address " << i.address);
      inject(bench, i);
      CHECK(bench.read(WEFT_CSR_INJECT_STATUS) == refused);
    }
    bench.write(WEFT_CSR_INJECT_ARM, UINT64_MAX);
    CHECK(bench.read(WEFT_CSR_INJECT_STATUS) == refused);
    const std::vector<Injection> legal{vmem_flip(bench.chip.vmem_bytes - 8, 3),
                                       acc_flip(rows - 1, 7, 1, 0x40),
                                       {.kind = WEFT_INJECT_KIND_NOT_DONE, .queue = 4, .n = 65535},
                                       {.kind = WEFT_INJECT_KIND_RAISE, .queue = 1, .code = WEFT_LAST_FAULT, .n = 1}};
    uint64_t armed = 0;
    for (const Injection& i : legal) {
      inject(bench, i);
      armed |= uint64_t{1} << i.kind;
      CHECK(bench.read(WEFT_CSR_INJECT_STATUS) == armed);
    }
    bench.write(WEFT_CSR_INJECT_ARM, WEFT_INJECT_KIND_NONE);
    CHECK(bench.read(WEFT_CSR_INJECT_STATUS) == 0);
    for (const Injection& i : legal) inject(bench, i);
    bench.reset();
    CHECK(bench.read(WEFT_CSR_INJECT_STATUS) == 0);
    kProgram.place(bench, 5);
    REQUIRE(kProgram.push(bench));
    REQUIRE(bench.run(100'000));
    CHECK(kProgram.result(bench) == kProgram.expected(bench));
  }
}

TEST_CASE("flips outlive a core reset, as the memories do, and after an ECC fault and a reset the core is as new") {
  for (const auto kind : {core::CoreKind::kRtl, core::CoreKind::kFast}) {
    CoreBench bench("nano", kind);
    kProgram.place(bench, 3);
    for (const Injection& i : {vmem_flip(kX + 5 * kWord, 3), acc_flip(6, 1, 3, 0, 2), acc_flip(2, 1, 3, 0, 3),
                               vmem_flip(kBias, 3), vmem_flip(kY, 3)}) {
      inject(bench, i);
      REQUIRE(kProgram.push(bench));
      REQUIRE(bench.run(100'000));
      CHECK(fault(bench).code == WEFT_FAULT_ECC_UNCORRECTABLE);
      bench.reset();
      REQUIRE(kProgram.push(bench));
      REQUIRE(bench.run(100'000));
      CHECK(fault(bench).code == 0);
      CHECK(kProgram.result(bench) == kProgram.expected(bench));
    }
  }
}

TEST_CASE("in lockstep a single error agrees with golden, and a double error is the named fault") {
  const auto run_lockstep = [](const std::vector<Injection>& injections, unsigned code) {
    CoreBench bench("nano", core::CoreKind::kLockstep);
    kProgram.place(bench, 3);
    for (const Injection& i : injections) inject(bench, i);
    REQUIRE(kProgram.push(bench));
    REQUIRE(bench.run());
    INFO(core::find_mismatch(*bench.core).report);
    CHECK_FALSE(core::find_mismatch(*bench.core).differs);
    CHECK(fault(bench).code == code);
    CHECK((kProgram.result(bench) == kProgram.expected(bench)) == (code == 0));
  };
  run_lockstep({vmem_flip(kY + 8, 1), acc_flip(4, 2, 1, 0, 2)}, 0);
  run_lockstep({acc_flip(4, 2, 5, 0, 3)}, WEFT_FAULT_ECC_UNCORRECTABLE);
  run_lockstep({vmem_flip(kY, 5)}, WEFT_FAULT_ECC_UNCORRECTABLE);
}
