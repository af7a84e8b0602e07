// Latency, bubbles and waits, by the cycle.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "testbench/rtl/mxu/mxu_harness.hpp"

namespace weft::mxu_bench::timing_test {
inline constexpr unsigned kLatency = Harness::kLatency, kDepth = Harness::kDepth, kFlight = Harness::kFlight;
/// A tile's first row to the next tile's first word.
inline constexpr unsigned kSwapLead = (kLatency - 1) * (kN - 1);

MxuCommand make(unsigned m, unsigned k, unsigned acc_row = 0) {
  MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.dtype = WEFT_MXU_DTYPE_BF16;
  c.m = static_cast<uint16_t>(m);
  c.k = k;
  c.cols = kN;
  c.acc_row = static_cast<uint16_t>(acc_row);
  c.x_row_stride = 1;
  c.x_tile_stride = m;
  c.w_addr = 8192;
  c.w_tile_stride = kN;
  return c;
}

void fill(Harness& bench) {
  for (auto& lane : bench.vmem) lane = static_cast<uint16_t>((bench.random() & 0x807f) | 0x3f80);
}

TEST_CASE("one command of one tile takes PE rows + M + (L + 1) N + 3 cycles") {
  for (unsigned m : {1u, 2u, 8u, 9u, 31u, 64u}) {
    for (unsigned k = 1; k <= kN; k++) {
      Harness bench(1);
      bench.push(make(m, k));
      REQUIRE(bench.run());
      REQUIRE(bench.done.size() == 1);
      CHECK(bench.done[0] - bench.accepted[0] == k + m + kFlight + 3);
      CHECK(bench.counters.weight_wait == k + 3);
      CHECK(bench.counters.busy == m);
      CHECK(bench.counters.drain == kFlight);
      CHECK(bench.counters.vmem_wait + bench.counters.acc_wait == 0);
    }
  }
}

TEST_CASE("the last row is readable in the cycle of done, and not yet in the cycle before") {
  Harness bench(2);
  fill(bench);
  Reference reference(kN, 2 * Harness::kBankRows);
  const auto command = make(5, 20, 3);
  reference.execute(command, bench.vmem);
  const auto read_at = [&](uint64_t cycle) {
    bench.reset();
    MxuCommand zero = make(5, 1, 3);
    zero.w_addr = 0;
    zero.x_addr = 16000;
    zero.cols = 1;
    for (unsigned i = 0; i < 5; i++) bench.vmem[(16000 + i) * kN] = 0;
    bench.push(zero);
    REQUIRE(bench.run());
    bench.reset();
    bench.push(command);
    REQUIRE(bench.step_until([&] { return bench.cycle >= cycle; }));
    bench.request_row(7);
    bench.step();
    REQUIRE(bench.acc_granted);
    bench.step();
    return bench.acc_data;
  };
  bench.push(command);
  REQUIRE(bench.run());
  const uint64_t done = bench.done[0];
  const auto expected = reference.row(7);
  CHECK(read_at(done) == std::vector<uint32_t>(expected.begin(), expected.end()));
  const auto early = read_at(done - 1);
  CHECK(early[kN - 1] != expected[kN - 1]);
  CHECK(early[kN - 2] == expected[kN - 2]);
}

TEST_CASE("no bubble between tiles and between commands for M = L N, L N + 1, L N + 2") {
  for (unsigned m : {kDepth, kDepth + 1, kDepth + 2}) {
    for (unsigned commands : {1u, 2u, 9u}) {
      for (bool same_rows : {true, false}) {
        INFO(fmt::format("m {}, {} commands", m, commands));
        Harness bench(3);
        fill(bench);
        Reference reference(kN, 2 * Harness::kBankRows);
        for (unsigned i = 0; i < commands; i++) {
          auto command = make(m, 5 * kN, same_rows ? 0 : (i % 2) * Harness::kBankRows);
          if (same_rows && i != 0) command.seed = WEFT_MXU_SEED_KEEP;
          bench.push(command);
          reference.execute(command, bench.vmem);
        }
        REQUIRE(bench.run());
        const Counters& c = bench.counters;
        CHECK(c.busy == commands * 5 * m);
        CHECK(c.weight_wait == kN + 3);  // before the first row only
        CHECK(c.acc_wait == 0);
        CHECK(c.vmem_wait == 0);
        CHECK(c.drain == kFlight);
        CHECK(bench.done.back() - bench.accepted[0] == kN + commands * 5 * m + kFlight + 3);
        CHECK(bench.differing_cycles == 0);
        for (unsigned row = 0; row < m; row++) {
          const auto expected = reference.row(row);
          CHECK(bench.read_row(row) == std::vector<uint32_t>(expected.begin(), expected.end()));
        }
      }
    }
  }
}

TEST_CASE("fewer rows than L N: a tile takes L N cycles and the rest is acc_wait") {
  for (unsigned m = 1; m < kDepth; m++) {
    Harness bench(4);
    bench.push(make(m, 6 * kN));
    REQUIRE(bench.run());
    CHECK(bench.counters.busy == 6 * m);
    CHECK(bench.counters.acc_wait == 5 * (kDepth - m));
    CHECK(bench.counters.weight_wait == kN + 3);
    CHECK(bench.counters.vmem_wait == 0);
    CHECK(bench.done[0] - bench.accepted[0] == kN + 5 * kDepth + m + kFlight + 3);
  }
}

TEST_CASE("commands of fewer rows than N that seed with zero wait for weights") {
  for (unsigned m = 1; m < kN; m++) {
    Harness bench(5);
    for (unsigned i = 0; i < 4; i++) bench.push(make(m, kN, 8 * i));
    REQUIRE(bench.run());
    CHECK(bench.counters.busy == 4 * m);
    CHECK(bench.counters.acc_wait == 0);
    CHECK(bench.counters.weight_wait == kN + 3 + 3 * (kSwapLead + kN - m));
  }
}

TEST_CASE("a change of type drains the array first") {
  Harness bench(6);
  auto second = make(8, 16, 64);
  second.dtype = WEFT_MXU_DTYPE_INT8;
  bench.push(make(8, 8));
  bench.push(second);
  REQUIRE(bench.run());
  CHECK(bench.counters.drain == kFlight + kFlight);
  CHECK(bench.counters.weight_wait == kN + 3);
  CHECK(bench.done[1] - bench.done[0] == 8 + kFlight);
}

TEST_CASE("a bank whose read ports seeds use refuses the VPU, the other one does not") {
  Harness bench(7);
  constexpr unsigned kRows = 2 * kDepth;  // so many that seeds are read and not forwarded
  bench.push(make(kRows, 4 * kN));
  unsigned refused = 0, other_refused = 0;
  for (unsigned limit = 1000; bench.done.empty() && limit != 0; limit--) {
    const bool other = bench.cycle % 2 != 0;
    bench.request_row(other ? 70 : 5);
    bench.step();
    (other ? other_refused : refused) += !bench.acc_granted;
  }
  CHECK(refused == (3 * kRows + kN - 1 + 1) / 2);  // from the first seeded row to the last column of the last one
  CHECK(other_refused == 0);
}

TEST_CASE("an x word that is refused costs one cycle of vmem_wait once the words ahead are used up") {
  Harness bench(8);
  bench.push(make(60, kN));
  REQUIRE(bench.step_until([&] { return bench.counters.busy >= 30; }));
  bench.x_refusals = 100;
  for (int i = 0; i < 10; i++) bench.step();
  bench.x_refusals = 0;
  REQUIRE(bench.run());
  CHECK(bench.counters.vmem_wait >= 6);
  CHECK(bench.counters.vmem_wait <= 10);
  CHECK(bench.counters.busy == 60);
}

TEST_CASE("a reset in the middle of a command leaves nothing behind") {
  for (unsigned cut = 1; cut < 120; cut += 7) {
    INFO(fmt::format("reset after {} cycles", cut));
    Harness bench(9);
    fill(bench);
    Reference reference(kN, 2 * Harness::kBankRows);
    auto lost = make(20, 30, 30);
    lost.dtype = WEFT_MXU_DTYPE_INT8;
    bench.push(lost);
    bench.push(make(20, 30, 0));
    for (unsigned i = 0; i < cut; i++) bench.step();
    bench.reset();
    const auto command = make(12, 20, 64);
    reference.execute(command, bench.vmem);
    bench.push(command);
    REQUIRE(bench.run());
    CHECK(bench.done[0] - bench.accepted[0] == kN + 2 * std::max(12u, kDepth) + 12 + kFlight + 3);
    for (unsigned row = 64; row < 76; row++) {
      const auto expected = reference.row(row);
      CHECK(bench.read_row(row) == std::vector<uint32_t>(expected.begin(), expected.end()));
    }
    CHECK(bench.differing_cycles == 0);
  }
}

}  // namespace weft::mxu_bench::timing_test
