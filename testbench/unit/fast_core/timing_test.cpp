// The timing model's structure: what overlaps, what follows without a gap, what costs a latency.
#include <catch2/catch.hpp>
#include <chrono>

#include "bench.hpp"

using namespace weft;
using namespace weft::test;

namespace {

uint64_t mxu_counter(Bench& bench, weft_counter index) {
  bench.write(WEFT_CSR_COUNTER_SNAPSHOT, 1);
  return bench.counter(index);
}

}  // namespace

TEST_CASE("An idle core jumps: a billion cycles cost nothing") {
  Bench bench;
  bench.core.advance(1'000'000'000'000);
  CHECK(bench.core.cycle() == 1'000'000'000'000);
  bench.write(WEFT_CSR_COUNTER_SNAPSHOT, 1);
  CHECK(bench.counter(WEFT_COUNTER_MXU_IDLE) == 1'000'000'000'000);
  CHECK(bench.counter(WEFT_COUNTER_QUEUE_SYNC_EMPTY) == 1'000'000'000'000);
}

TEST_CASE("Tiles and commands follow each other without a bubble when M >= N") {
  for (const uint16_t m : {8, 9, 10, 30}) {
    Bench bench;
    for (uint16_t i = 0; i < 4; i++) {
      auto c = matmul(0, 16, 8, m, 80, 8, 16);  // x in bank 0, weights in banks 8 to 15: no conflicts
      c.x_tile_stride = 16;
      c.acc_row = static_cast<uint16_t>(i % 2 * bench.chip.acc_bank_rows);
      bench.push(WEFT_QUEUE_MXU, tagged(c, i));
    }
    REQUIRE(bench.drain());
    CAPTURE(m);
    CHECK(bench.log.at('r', 2) - bench.log.at('r', 1) == 10u * m);
    CHECK(bench.log.at('r', 3) - bench.log.at('r', 2) == 10u * m);
    CHECK(mxu_counter(bench, WEFT_COUNTER_MXU_BUSY) == 40u * m);
    CHECK(mxu_counter(bench, WEFT_COUNTER_MXU_WEIGHT_WAIT) < 20);
    CHECK(mxu_counter(bench, WEFT_COUNTER_MXU_ACC_WAIT) == 0);
  }
}

TEST_CASE("Below N rows a tile takes N cycles, the rest of which is a wait") {
  Bench bench;
  bench.push(WEFT_QUEUE_MXU, matmul(0, 1, 0, 2, 80, 8, 8));
  REQUIRE(bench.drain());
  CHECK(mxu_counter(bench, WEFT_COUNTER_MXU_BUSY) == 20);
  CHECK(mxu_counter(bench, WEFT_COUNTER_MXU_ACC_WAIT) == 9 * 6);
}

TEST_CASE("A multiply-add of L cycles: a tile takes L N, and a command is done (L + 1) N after its last row") {
  for (const char* preset : {"nano", "nano-pe2", "nano-pe3", "nano-pe4"}) {
    CAPTURE(preset);
    Bench bench(preset);
    const uint64_t latency = bench.chip.pe_latency;
    bench.push(WEFT_QUEUE_MXU, matmul(0, 1, 0, 2, 80, 8, 8));
    REQUIRE(bench.drain());
    CHECK(mxu_counter(bench, WEFT_COUNTER_MXU_BUSY) == 20);
    CHECK(mxu_counter(bench, WEFT_COUNTER_MXU_ACC_WAIT) == 9 * (8 * latency - 2));
    CHECK(mxu_counter(bench, WEFT_COUNTER_MXU_DRAIN) == 8 * (latency + 1));
  }
}

TEST_CASE("The VPU does a row a cycle, and its next command follows the last write") {
  Bench bench;
  for (uint16_t i = 0; i < 3; i++) bench.push(WEFT_QUEUE_VPU, tagged(epilogue(0, 40, 8, 0), i));
  REQUIRE(bench.drain());
  CHECK(bench.log.at('r', 2) - bench.log.at('r', 1) == 40 + 3);
}

TEST_CASE("A long stream reaches the memory's bandwidth") {
  Bench bench("small");
  const uint32_t bytes = 1 << 20;
  for (int i = 0; i < 8; i++) bench.push(WEFT_QUEUE_DMA_IN, copy_in(3, 0, 0, bytes));
  REQUIRE(bench.drain());
  const double cycles =
      static_cast<double>(bench.csr(WEFT_CSR_LAST_RETIRE_CYCLE) - bench.csr(WEFT_CSR_FIRST_ACCEPT_CYCLE));
  CHECK(8.0 * bytes / cycles > 0.98 * 135);
}

TEST_CASE("The knobs of FastTiming move what they name and nothing else") {
  const auto span = [](const core::FastTiming& timing) {
    Bench bench("nano", timing);
    bench.push(WEFT_QUEUE_MXU, matmul(0, 1, 0, 8, 8, 8, 8));
    bench.drain();
    return bench.log.at('r', 0) - bench.log.at('s', 0);
  };
  core::FastTiming base, later = base;
  later.mxu_drain += 7;
  CHECK(span(later) == span(base) + 7);
  later = base;
  later.mxu_first_weight += 2;
  CHECK(span(later) == span(base) + 2);
  later = base;
  later.vpu_function += 5;
  CHECK(span(later) == span(base));
}

TEST_CASE("A product of 2^32 elements a row holds nobody up: its cycles pass in short calls, and a reset ends it") {
  for (const char* preset : {"nano", "nano-4mxu"}) {
    Bench bench(preset);
    bench.write(WEFT_CSR_WATCHDOG_LIMIT, 20'000);
    auto endless = matmul(0, 0, 0, 64, UINT32_MAX, 8, 0);
    endless.x_tile_stride = 0;
    bench.push(WEFT_QUEUE_MXU, endless);
    const uint64_t begin = bench.core.cycle();
    for (int i = 1; i <= 10; i++) {
      const auto before = std::chrono::steady_clock::now();
      bench.core.advance(begin + 100'000u * static_cast<unsigned>(i));
      CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));  // at once it would be days
    }
    CHECK(bench.core.cycle() == begin + 1'000'000);
    CHECK(bench.fault_code() == WEFT_FAULT_NONE);
    CHECK(mxu_counter(bench, WEFT_COUNTER_MXU_BUSY) > 900'000);
    CHECK(bench.core.busy());
    bench.core.write_csr(WEFT_CSR_CONTROL, 1);
    REQUIRE(bench.drain(WEFT_CORE_CORE_RESET_CYCLES + 100));
    bench.push(WEFT_QUEUE_MXU, tagged(matmul(0, 1, 0, 8, 8, 8, 8), 7));
    REQUIRE(bench.drain(1000));
    CHECK(bench.log.at('r', 7) != 0);
  }
}
