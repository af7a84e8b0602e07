// What ECC could not correct: it stops the unit if it is used, once, and nothing that it touches is written.
#include <algorithm>
#include <catch2/catch.hpp>

#include "testbench/rtl/mxu/mxu_harness.hpp"

namespace weft::mxu_bench::poison_test {
inline constexpr unsigned kGranules = kN / 4, kWeights = 8192;
inline constexpr uint64_t kAccFault = uint64_t{1} << 63, kWordBytes = 16;

MxuCommand make(unsigned m, unsigned k, weft_mxu_dtype dtype = WEFT_MXU_DTYPE_BF16) {
  MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.header.tag = 0x77;
  c.dtype = static_cast<uint8_t>(dtype);
  c.m = static_cast<uint16_t>(m);
  c.k = k;
  c.cols = kN;
  c.x_row_stride = 1;
  c.x_tile_stride = m;
  c.w_addr = kWeights;
  c.w_tile_stride = kN;
  return c;
}

/// Runs the command on numbers of 1 to 2, and long enough after it for whatever does not end to show.
void run(Harness& bench, const MxuCommand& command) {
  for (auto& lane : bench.vmem) lane = static_cast<uint16_t>((bench.random() & 0x807f) | 0x3f80);
  bench.push(command);
  REQUIRE(bench.step_until([&] { return !bench.done.empty() || !bench.faults.empty(); }));
  for (unsigned i = 0; i < 200; i++) bench.step();
}

void check_stopped(const Harness& bench, uint64_t address) {
  REQUIRE(bench.faults.size() == 1);  // in one cycle, not in each until the reset
  CHECK(bench.faults[0].code == WEFT_FAULT_ECC_UNCORRECTABLE);
  CHECK(bench.faults[0].tag == 0x77);
  CHECK(bench.faults[0].address == address);
  CHECK(bench.done.empty());
  CHECK_FALSE(bench.active);
  CHECK_FALSE(bench.ready);
  CHECK(bench.differing_cycles == 0);
}

void check_result(Harness& bench, const MxuCommand& command) {
  CHECK(bench.faults.empty());
  REQUIRE(bench.done.size() == 1);
  Reference reference(kN, 2 * Harness::kBankRows);
  reference.execute(command, bench.vmem);
  for (unsigned row = 0; row < command.m; row++) CHECK(std::ranges::equal(bench.read_row(row), reference.row(row)));
  CHECK(bench.differing_cycles == 0);
}

TEST_CASE("a poisoned row, weight or seed is one fault, however long the unit is clocked after it") {
  for (const unsigned row : {0u, 3u, 8u}) {
    INFO("row " << row);
    Harness bench(1);
    bench.poisoned[row] = 1;
    run(bench, make(9, kN));
    check_stopped(bench, row * kWordBytes);
  }
  for (const unsigned word : {0u, 5u, 7u}) {
    INFO("weight word " << word);
    Harness bench(2);
    bench.poisoned[kWeights + word] = 2;
    run(bench, make(9, kN));
    check_stopped(bench, (kWeights + word) * kWordBytes + 8);
  }
  for (const unsigned row : {0u, 4u, 8u})
    for (const unsigned column : {0u, 3u, 7u}) {
      INFO("ACC row " << row << ", column " << column);
      Harness bench(3);
      bench.poison_acc(row, column);
      auto keep = make(9, kN);
      keep.seed = WEFT_MXU_SEED_KEEP;
      run(bench, keep);
      check_stopped(bench, kAccFault | row);
    }
}

TEST_CASE("after a fault of ECC and a reset the unit computes as a new one") {
  Harness bench(4);
  bench.poison_acc(2, 1);
  auto keep = make(5, kN);
  keep.seed = WEFT_MXU_SEED_KEEP;
  run(bench, keep);
  check_stopped(bench, kAccFault | 2);
  bench.reset();
  const auto zero = make(5, kN);
  run(bench, zero);
  check_result(bench, zero);
}

TEST_CASE("a poisoned granule of x counts if one of its PE rows is below K, whatever K is") {
  for (const auto dtype : {WEFT_MXU_DTYPE_BF16, WEFT_MXU_DTYPE_INT8}) {
    const unsigned per_row = dtype == WEFT_MXU_DTYPE_INT8 ? 2 : 1;
    for (unsigned k = 1; k <= 2 * kN * per_row; k++)
      for (unsigned granule = 0; granule < kGranules; granule++) {
        INFO("K " << k << ", granule " << granule << ", dtype " << static_cast<int>(dtype));
        const unsigned tiles = (k + kN * per_row - 1) / (kN * per_row);
        const unsigned pe_rows = (k - (tiles - 1) * kN * per_row + per_row - 1) / per_row;  // of the last tile
        const auto command = make(3, k, dtype);
        const unsigned word = (tiles - 1) * command.x_tile_stride + 1;  // row 1 of the last tile
        Harness bench(k);
        bench.poisoned[word] = static_cast<uint8_t>(1 << granule);
        run(bench, command);
        if (4 * granule < pe_rows)
          check_stopped(bench, word * kWordBytes + 8 * granule);
        else
          check_result(bench, command);
      }
  }
}

TEST_CASE("a poisoned granule of weights counts if one of its lanes is below cols") {
  for (unsigned cols = 1; cols <= kN; cols++)
    for (unsigned granule = 0; granule < kGranules; granule++) {
      INFO("cols " << cols << ", granule " << granule);
      auto command = make(3, kN);
      command.cols = static_cast<uint16_t>(cols);
      Harness bench(cols);
      bench.poisoned[kWeights + 4] = static_cast<uint8_t>(1 << granule);
      run(bench, command);
      if (4 * granule < cols)
        check_stopped(bench, (kWeights + 4) * kWordBytes + 8 * granule);
      else
        check_result(bench, command);
    }
}

}  // namespace weft::mxu_bench::poison_test
