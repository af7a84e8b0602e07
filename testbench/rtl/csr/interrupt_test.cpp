// INTERRUPT: idle, queue low, fault; set by events, cleared by writing 1; advance() returns when the line rises.
#include <catch2/catch.hpp>
#include <cstdint>

#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;

constexpr uint64_t kFault = 1, kIdle = 2, kLow = 4;

}  // namespace

TEST_CASE("advance returns in the cycle in which the interrupt line rises, and only then") {
  CoreBench bench("nano");
  bench.write(WEFT_CSR_QUEUE_LOW, 31);
  REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_SIGNAL, 1)));
  const uint64_t start = bench.core->cycle();
  const uint64_t risen = bench.core->advance(start + 1000);
  CHECK(risen == bench.core->cycle());
  CHECK(risen == start + 3);  // taken two cycles after the push, told in the next
  CHECK(bench.core->interrupt());
  CHECK(bench.core->advance(start + 1000) == start + 1000);  // it is up: no rise
  CHECK(bench.read(WEFT_CSR_INTERRUPT) == (kLow | kIdle));
  bench.write(WEFT_CSR_INTERRUPT, kLow);
  CHECK(bench.read(WEFT_CSR_INTERRUPT) == kIdle);
  CHECK(bench.core->interrupt());
  bench.write(WEFT_CSR_INTERRUPT, kIdle);
  CHECK_FALSE(bench.core->interrupt());
}

TEST_CASE("the low interrupt comes when a queue falls to QUEUE_LOW, not above") {
  CoreBench bench("nano");
  bench.write(WEFT_CSR_QUEUE_LOW, 2);
  for (unsigned i = 0; i < 5; i++)
    REQUIRE(
        bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_WAIT, 1, {.wait0 = 4, .wait_count0 = 1})));
  bench.skip(20);
  for (unsigned left = 5; left > 0; left--) {
    CHECK(bench.read(WEFT_CSR_INTERRUPT) == (left <= 2 ? kLow : 0));
    bench.write(WEFT_CSR_INTERRUPT, kLow);
    bench.write(WEFT_CSR_SEMAPHORE + 8 * 4, 1);
    bench.skip(10);
  }
  CHECK(bench.read(WEFT_CSR_INTERRUPT) == (kLow | kIdle));
}

TEST_CASE("an event in the cycle in which its bit is cleared is not lost") {
  for (unsigned delay = 0; delay < 8; delay++) {
    CoreBench bench("nano");
    bench.write(WEFT_CSR_QUEUE_LOW, 31);
    REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_SIGNAL, 1)));
    bench.skip(delay);
    bench.core->write_csr(WEFT_CSR_INTERRUPT, kLow);
    bench.skip(20);
    INFO("delay " << delay);
    // The command is taken in cycle 2 after the push: a write in that cycle or before leaves the bit set.
    CHECK((bench.read(WEFT_CSR_INTERRUPT) & kLow) == (delay <= 2 ? kLow : 0));
  }
}

TEST_CASE("a fault raises the interrupt, a core reset takes it down") {
  CoreBench bench("nano");
  REQUIRE(bench.core->push(WEFT_QUEUE_MXU, spec::Command{}));
  const uint64_t start = bench.core->cycle();
  CHECK(bench.core->advance(start + 100) == start + 2);  // checked one cycle after the push, told in the next
  CHECK((bench.read(WEFT_CSR_INTERRUPT) & kFault) != 0);
  CHECK(bench.read(WEFT_CSR_FAULT_CYCLE) == start + 1);
  bench.reset();
  CHECK_FALSE(bench.core->interrupt());
}
