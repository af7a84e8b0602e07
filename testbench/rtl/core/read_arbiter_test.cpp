// read_arbiter.sv: one read at a time, what memory has seen stands, and the share of commands.
#include <Vread_arbiter_model.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

class Bench : public weft::bench::VerilatedBench<Vread_arbiter_model> {
 public:
  Bench() {
    top->dma_valid_i = top->fetch_valid_i = top->mrd_ready_i = 0;
    reset();
  }
};

}  // namespace

TEST_CASE("of reads that wait on both sides one in WEFT_CORE_PREFETCH_SHARE is a command's") {
  std::mt19937_64 random(weft::bench::stimulus_seed(1));
  for (const unsigned refuse : weft::bench::kStreamLevels) {
    Bench bench;
    bench.top->dma_valid_i = bench.top->fetch_valid_i = 1;
    unsigned taken = 0, since = 0;
    while (taken < 400) {
      bench.top->mrd_ready_i = !weft::bench::chance(random, refuse);
      bench.settle();
      REQUIRE(bench.top->mrd_valid_o);
      REQUIRE(bench.top->mrd_fetch_o == (since == WEFT_CORE_PREFETCH_SHARE - 1));
      REQUIRE(bench.top->conflict_o == !bench.top->mrd_fetch_o);
      REQUIRE(bench.top->fetch_ready_o == (bench.top->mrd_ready_i && bench.top->mrd_fetch_o));
      REQUIRE(bench.top->dma_ready_o == (bench.top->mrd_ready_i && !bench.top->mrd_fetch_o));
      if (bench.top->mrd_ready_i) {
        since = bench.top->mrd_fetch_o ? 0 : since + 1;
        taken++;
      }
      bench.step();
    }
  }
}

TEST_CASE("a read alone goes at once, whatever the other side did before") {
  for (const bool fetch : {false, true})
    for (unsigned before = 0; before < 5; before++) {
      Bench bench;
      bench.top->mrd_ready_i = bench.top->dma_valid_i = bench.top->fetch_valid_i = 1;
      for (unsigned i = 0; i < before; i++) bench.step();
      bench.top->dma_valid_i = !fetch;
      bench.top->fetch_valid_i = fetch;
      bench.settle();
      CHECK(bench.top->mrd_valid_o);
      CHECK(!!bench.top->mrd_fetch_o == fetch);
      CHECK((fetch ? bench.top->fetch_ready_o : bench.top->dma_ready_o));
      CHECK_FALSE(bench.top->conflict_o);
    }
}

TEST_CASE("reads of DMA count against the share only while a command waits") {
  for (unsigned alone = 0; alone < 9; alone++) {
    Bench bench;
    bench.top->mrd_ready_i = bench.top->dma_valid_i = 1;
    for (unsigned i = 0; i < alone; i++) bench.step();
    bench.top->fetch_valid_i = 1;
    for (unsigned i = 0; i < WEFT_CORE_PREFETCH_SHARE; i++) {
      bench.settle();
      CHECK(!!bench.top->mrd_fetch_o == (i == WEFT_CORE_PREFETCH_SHARE - 1));
      bench.step();
    }
  }
}

TEST_CASE("what memory has seen and refused stands, although the other side comes") {
  for (const bool fetch : {false, true})
    for (unsigned cycles = 1; cycles < 12; cycles++) {
      Bench bench;
      bench.top->dma_valid_i = !fetch;
      bench.top->fetch_valid_i = fetch;
      bench.step();
      bench.top->dma_valid_i = bench.top->fetch_valid_i = 1;
      for (unsigned i = 0; i < cycles; i++) {
        bench.settle();
        CHECK(!!bench.top->mrd_fetch_o == fetch);
        bench.step();
      }
      bench.top->mrd_ready_i = 1;
      bench.settle();
      CHECK(!!bench.top->mrd_fetch_o == fetch);
      bench.step();
      bench.settle();
      CHECK_FALSE(bench.top->mrd_fetch_o);  // DMA is first again
    }
}

TEST_CASE("a reset forgets what stood and how many went before") {
  Bench bench;
  bench.top->fetch_valid_i = 1;
  bench.step();
  bench.top->dma_valid_i = 1;
  bench.reset();
  bench.settle();
  CHECK_FALSE(bench.top->mrd_fetch_o);
  bench.top->mrd_ready_i = 1;
  for (unsigned i = 0; i < WEFT_CORE_PREFETCH_SHARE - 1; i++) bench.step();
  bench.settle();
  CHECK(bench.top->mrd_fetch_o);
  bench.reset();
  bench.settle();
  CHECK_FALSE(bench.top->mrd_fetch_o);
}
