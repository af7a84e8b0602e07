// The larger arrays: the same results, bit for bit, and one row in each cycle. What the small one proves is not
// repeated.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>

#include "Vmxu_small.h"
#include "Vmxu_v5e.h"
#include "testbench/rtl/mxu/mxu_driver.hpp"
#include "testbench/rtl/mxu/mxu_reference.hpp"

namespace {
using weft::mxu_bench::Driver;
using weft::mxu_bench::Reference;
using weft::spec::MxuCommand;
constexpr uint64_t kSeed = 41;

/// `specials` of 100000 lanes are infinities or NaN, half of the rest are any bits if `any`.
template <class Top>
void run_random(const char* name, unsigned commands, unsigned specials, bool any) {
  const auto& chip = *weft::spec::find_chip(name);
  std::mt19937_64 random(kSeed);
  INFO(fmt::format("seed {}, {}", kSeed, name));
  const auto below = [&](uint64_t limit) { return static_cast<uint32_t>(random() % limit); };
  std::vector<uint16_t> vmem(size_t{4096} * chip.n);
  for (auto& lane : vmem) {
    const uint64_t r = random();
    lane = any && r >> 40 & 1 ? static_cast<uint16_t>(r)
                              : static_cast<uint16_t>((r & 0x807f) | (118 + (r >> 16) % 16) << 7);
    if (r >> 41 & 1 && r >> 42 & 1) lane = 0;
    if ((r >> 43) % 100000 < specials) lane = r & 1 ? 0x7f80 : 0xffc1;
  }

  Reference reference(chip.n, 2 * chip.acc_bank_rows);
  Driver<Top> driver(chip, vmem);
  for (unsigned i = 0; i < commands; i++) {
    MxuCommand c;
    c.header.opcode = WEFT_OPCODE_MATMUL;
    c.dtype = below(3) ? WEFT_MXU_DTYPE_BF16 : WEFT_MXU_DTYPE_INT8;
    c.seed = i >= 2 && below(2) ? WEFT_MXU_SEED_KEEP : WEFT_MXU_SEED_ZERO;
    c.m = static_cast<uint16_t>(i < 2 ? chip.acc_bank_rows : 1 + below(chip.n + chip.n / 2));
    c.k = 1 + below(i < 2 ? 4 : 3 * chip.n);
    c.cols = static_cast<uint16_t>(below(3) ? chip.n : 1 + below(chip.n));
    c.acc_row = static_cast<uint16_t>(i < 2 ? i * chip.acc_bank_rows
                                            : below(2) * chip.acc_bank_rows + below(chip.acc_bank_rows - c.m + 1));
    c.x_addr = below(500);
    c.x_row_stride = 1 + below(4);
    c.x_tile_stride = below(300);
    c.w_addr = 2048 + below(1000);
    c.w_tile_stride = below(chip.n + 1);
    driver.push(c);
    reference.execute(c, vmem);
  }
  for (uint64_t limit = 1000000; driver.done() < commands && limit != 0; limit--) driver.step();
  REQUIRE(driver.done() == commands);
  for (unsigned row = 0; row < 2 * chip.acc_bank_rows; row++) {
    const auto got = driver.read_row(row);
    const auto expected = reference.row(row);
    for (unsigned j = 0; j < chip.n; j++) {
      if (got[j] != expected[j])
        FAIL(fmt::format("ACC row {} lane {}: {:08x}, expected {:08x}", row, j, got[j], expected[j]));
    }
  }
  CHECK(driver.macs() == reference.macs());
  CHECK(driver.busy() == reference.rows());
  CHECK(driver.overflowed() == reference.overflowed());
}

template <class Top>
void run_dense(const char* name, unsigned m) {
  const auto& chip = *weft::spec::find_chip(name);
  INFO(fmt::format("{}, m {}", name, m));
  const std::vector<uint16_t> vmem(size_t{4096} * chip.n, 0x3f80);
  Driver<Top> driver(chip, vmem);
  MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.dtype = WEFT_MXU_DTYPE_BF16;
  c.m = static_cast<uint16_t>(m);
  c.k = 4 * chip.n;
  c.cols = static_cast<uint16_t>(chip.n);
  c.x_row_stride = 1;
  c.x_tile_stride = m;
  c.w_tile_stride = chip.n;
  for (int i = 0; i < 3; i++) driver.push(c);
  uint64_t first = 0;
  for (; driver.busy() == 0 && first < 10000; first++) driver.step();
  for (unsigned limit = 100000; driver.busy() < 12u * m && limit != 0; limit--) driver.step();
  CHECK(first == chip.n + 5);                     // accepted in cycle 0, first row in cycle N + 4
  CHECK(driver.cycles() == first + 12u * m - 1);  // no bubble
  for (unsigned limit = 100000; driver.done() < 3 && limit != 0; limit--) driver.step();
  CHECK(driver.cycles() == first + 12u * m - 1 + 2 * chip.n);
}
}  // namespace

TEST_CASE("32 x 32: every result is right") { run_random<Vmxu_small>("small", 120, 0, false); }
TEST_CASE("32 x 32: every result is right with special values") { run_random<Vmxu_small>("small", 120, 20, true); }
TEST_CASE("128 x 128: every result is right") { run_random<Vmxu_v5e>("v5e-1mxu", 24, 0, false); }
TEST_CASE("128 x 128: every result is right with special values") { run_random<Vmxu_v5e>("v5e-1mxu", 24, 2, true); }
TEST_CASE("32 x 32 and 128 x 128: no bubble for M = N, N + 1, N + 2") {
  for (unsigned extra : {0u, 1u, 2u}) {
    run_dense<Vmxu_small>("small", 32 + extra);
    run_dense<Vmxu_v5e>("v5e-1mxu", 128 + extra);
  }
}
