// Every fault of docs/command_checks.md, section 3, and what the unit does afterwards.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>

#include "testbench/rtl/mxu/mxu_harness.hpp"

namespace weft::mxu_bench::check_test {
inline constexpr uint64_t kVmemBytes = uint64_t{Harness::kVmemWords} * 2 * kN;

MxuCommand legal() {
  MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.header.tag = 0x1234;
  c.dtype = WEFT_MXU_DTYPE_BF16;
  c.m = 4;
  c.k = 20;
  c.cols = kN;
  c.x_row_stride = 1;
  c.x_tile_stride = 4;
  c.w_addr = 100;
  c.w_tile_stride = kN;
  return c;
}

struct Case {
  const char* name;
  std::function<void(MxuCommand&)> edit;
  uint8_t code;  ///< WEFT_FAULT_NONE: legal
  uint64_t address;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"k 0", [](auto& c) { c.k = 0; }, WEFT_FAULT_ILLEGAL_FIELD, 36},
      {"m 0", [](auto& c) { c.m = 0; }, WEFT_FAULT_ILLEGAL_FIELD, 40},
      {"cols 0", [](auto& c) { c.cols = 0; }, WEFT_FAULT_ILLEGAL_FIELD, 42},
      {"cols N + 1", [](auto& c) { c.cols = kN + 1; }, WEFT_FAULT_ILLEGAL_FIELD, 42},
      {"cols 0x100", [](auto& c) { c.cols = 0x100; }, WEFT_FAULT_ILLEGAL_FIELD, 42},
      {"seed 2", [](auto& c) { c.seed = static_cast<decltype(c.seed)>(2); }, WEFT_FAULT_ILLEGAL_FIELD, 46},
      {"dtype 0", [](auto& c) { c.dtype = static_cast<decltype(c.dtype)>(0); }, WEFT_FAULT_ILLEGAL_FIELD, 47},
      {"dtype 3", [](auto& c) { c.dtype = static_cast<decltype(c.dtype)>(3); }, WEFT_FAULT_ILLEGAL_FIELD, 47},
      {"mxu 1", [](auto& c) { c.mxu = 1; }, WEFT_FAULT_ILLEGAL_FIELD, 48},
      {"k before m", [](auto& c) { c.k = 0, c.m = 0; }, WEFT_FAULT_ILLEGAL_FIELD, 36},
      {"seed before dtype",
       [](auto& c) { c.seed = static_cast<decltype(c.seed)>(9), c.dtype = static_cast<decltype(c.dtype)>(9); },
       WEFT_FAULT_ILLEGAL_FIELD, 46},
      {"field before ACC", [](auto& c) { c.mxu = 1, c.acc_row = 1000; }, WEFT_FAULT_ILLEGAL_FIELD, 48},
      {"ACC's end", [](auto& c) { c.acc_row = 128, c.m = 1; }, WEFT_FAULT_ACC_RANGE, 128},
      {"acc_row 0xffff", [](auto& c) { c.acc_row = 0xffff; }, WEFT_FAULT_ACC_RANGE, 0xffff},
      {"across the banks", [](auto& c) { c.acc_row = 61; }, WEFT_FAULT_ACC_RANGE, 61},
      {"across the end", [](auto& c) { c.acc_row = 125; }, WEFT_FAULT_ACC_RANGE, 125},
      {"more rows than a bank", [](auto& c) { c.m = 65; }, WEFT_FAULT_ACC_RANGE, 0},
      {"ACC before VMEM", [](auto& c) { c.acc_row = 61, c.x_addr = 0xffffffff; }, WEFT_FAULT_ACC_RANGE, 61},
      {"last rows of a bank", [](auto& c) { c.acc_row = 60; }, WEFT_FAULT_NONE, 0},
      {"last rows of ACC", [](auto& c) { c.acc_row = 124; }, WEFT_FAULT_NONE, 0},
      {"x at the end", [](auto& c) { c.x_addr = Harness::kVmemWords - 12; }, WEFT_FAULT_NONE, 0},
      {"x one beyond", [](auto& c) { c.x_addr = Harness::kVmemWords - 11; }, WEFT_FAULT_RANGE, kVmemBytes},
      {"x_addr huge", [](auto& c) { c.x_addr = 0xffffffff; }, WEFT_FAULT_RANGE, kVmemBytes},
      {"x row stride huge", [](auto& c) { c.x_row_stride = 0xffffffff; }, WEFT_FAULT_RANGE, kVmemBytes},
      {"x row stride huge, one row", [](auto& c) { c.x_row_stride = 0xffffffff, c.m = 1; }, WEFT_FAULT_NONE, 0},
      {"x tile stride huge", [](auto& c) { c.x_tile_stride = 0xfffffff0; }, WEFT_FAULT_RANGE, kVmemBytes},
      {"tile strides huge, one tile", [](auto& c) { c.x_tile_stride = c.w_tile_stride = 0xffffffff, c.k = kN; },
       WEFT_FAULT_NONE, 0},
      {"w at the end, last tile short", [](auto& c) { c.w_addr = Harness::kVmemWords - 20; }, WEFT_FAULT_NONE, 0},
      {"w one beyond", [](auto& c) { c.w_addr = Harness::kVmemWords - 19; }, WEFT_FAULT_RANGE, kVmemBytes},
      {"w's full tile beyond, last one inside",
       [](auto& c) { c.w_addr = Harness::kVmemWords - 7, c.w_tile_stride = 0; }, WEFT_FAULT_RANGE, kVmemBytes},
      {"w short tile at the end", [](auto& c) { c.w_addr = Harness::kVmemWords - 4, c.k = 4; }, WEFT_FAULT_NONE, 0},
      {"w short tile beyond", [](auto& c) { c.w_addr = Harness::kVmemWords - 3, c.k = 4; }, WEFT_FAULT_RANGE,
       kVmemBytes},
      {"int8 pairs at the end",
       [](auto& c) { c.w_addr = Harness::kVmemWords - 4, c.k = 7, c.dtype = WEFT_MXU_DTYPE_INT8; }, WEFT_FAULT_NONE, 0},
      {"int8 pairs beyond", [](auto& c) { c.w_addr = Harness::kVmemWords - 3, c.k = 7, c.dtype = WEFT_MXU_DTYPE_INT8; },
       WEFT_FAULT_RANGE, kVmemBytes},
      {"k huge", [](auto& c) { c.k = 0xffffffff; }, WEFT_FAULT_RANGE, kVmemBytes},
      {"k and strides huge", [](auto& c) { c.k = c.x_tile_stride = c.w_tile_stride = 0xffffffff; }, WEFT_FAULT_RANGE,
       kVmemBytes},
  };
  return all;
}

TEST_CASE("each illegal command is refused with its code and address, and each legal neighbour is not") {
  Harness bench(1);
  for (const auto& each : cases()) {
    INFO(each.name);
    bench.reset();
    auto command = legal();
    each.edit(command);
    bench.push(command);
    REQUIRE(bench.run());
    if (each.code == WEFT_FAULT_NONE) {
      CHECK(bench.faults.empty());
      CHECK(bench.done.size() == 1);
      continue;
    }
    CHECK(bench.done.empty());
    REQUIRE(bench.faults.size() == 1);
    CHECK(bench.faults[0].code == each.code);
    CHECK(bench.faults[0].address == each.address);
    CHECK(bench.faults[0].tag == 0x1234);
    CHECK(bench.faults[0].cycle == bench.accepted[0] + 2);
  }
  CHECK(bench.differing_cycles == 0);
}

TEST_CASE("commands before a refused one finish, it writes nothing, and nothing is taken after it until reset") {
  Harness bench(2);
  for (auto& lane : bench.vmem) lane = 0x3f80;
  bench.push(legal());
  REQUIRE(bench.run());
  bench.reset();
  const auto before = bench.read_row(20);

  auto bad = legal();
  bad.acc_row = 20;
  bad.seed = static_cast<decltype(bad.seed)>(2);
  auto after = legal();
  after.acc_row = 20;
  bench.push(legal());
  bench.push(legal());
  bench.push(bad);
  bench.push(after);
  for (int i = 0; i < 500; i++) bench.step();
  CHECK(bench.accepted.size() == 3);
  CHECK(bench.done.size() == 2);
  REQUIRE(bench.faults.size() == 1);
  CHECK(bench.faults[0].cycle == bench.done[1] + 1);
  CHECK_FALSE(bench.active);
  CHECK_FALSE(bench.ready);
  CHECK(bench.read_row(20) == before);

  bench.reset();
  bench.push(after);
  REQUIRE(bench.run());
  CHECK(bench.done.size() == 1);
  CHECK(bench.read_row(20)[0] == 0x41a00000);  // 20 ones
}

TEST_CASE("four commands are taken while none has retired, the fifth waits") {
  Harness bench(3);
  auto command = legal();
  command.m = 64;
  for (int i = 0; i < 6; i++) bench.push(command);
  REQUIRE(bench.step_until([&] { return !bench.done.empty(); }));
  CHECK(bench.accepted.size() == 4);
  REQUIRE(bench.run());
  CHECK(bench.accepted[4] == bench.done[0] + 1);
  CHECK(bench.done.size() == 6);
}

}  // namespace weft::mxu_bench::check_test
