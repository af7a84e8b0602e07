// A hazard as a fault: both commands in the report, the registers as of any other fault, and nothing for what is
// ordered.
#include "model/core/hazard/hazard_core.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;
using bench::MatmulProgram;

spec::Command fill(uint16_t tag, uint64_t at, const bench::Semaphores& semaphores = {}) {
  spec::DmaCommand c;
  c.header = bench::header(WEFT_OPCODE_FILL, tag, semaphores);
  c.size0 = 64, c.dst_off = at;
  return encode(c);
}

struct Checked {
  std::vector<std::string> reports;
  CoreBench bench;
  explicit Checked(core::CoreKind kind)
      : bench("nano", kind,
              {.check_hazards = true, .report_hazard = [this](const std::string& text) { reports.push_back(text); }}) {}
};

}  // namespace

TEST_CASE("two unordered writes of one place read as the fault HAZARD of the later command, on every core") {
  for (const auto kind : {core::CoreKind::kRtl, core::CoreKind::kFast, core::CoreKind::kLockstep}) {
    Checked checked(kind);
    REQUIRE(checked.bench.core->push(WEFT_QUEUE_DMA_IN, fill(7, 128)));
    REQUIRE(checked.bench.core->push(WEFT_QUEUE_DMA_IN, fill(8, 160)));
    checked.bench.run();
    const bench::FaultInfo fault = bench::fault(checked.bench);
    CHECK(fault.code == WEFT_FAULT_HAZARD);
    CHECK(fault.queue == WEFT_QUEUE_DMA_IN);
    CHECK(fault.tag == 8);
    CHECK(fault.address == 160);
    CHECK(fault.count == 1);
    CHECK(checked.bench.core->interrupt());
    CHECK((checked.bench.read(WEFT_CSR_STATUS) & 6) == 6);
    REQUIRE(checked.reports.size() == 1);
    CHECK(checked.reports[0].find("VMEM bytes 0xa0 to 0xbf") != std::string::npos);
    CHECK(checked.reports[0].find("FILL tag 7") != std::string::npos);
    CHECK(checked.reports[0].find("FILL tag 8") != std::string::npos);
    checked.bench.reset();
    CHECK(bench::fault(checked.bench).code == 0);
    CHECK_FALSE(checked.bench.core->interrupt());
  }
}

TEST_CASE("of many hazards the first ten are told, then how many there were") {
  for (const unsigned fills : {5u, 8u}) {  // each writes what all others write: 10 pairs, 28 pairs
    Checked checked(core::CoreKind::kFast);
    for (unsigned round = 0; round < 2; round++) {
      checked.reports.clear();
      for (unsigned i = 0; i < fills; i++)
        REQUIRE(checked.bench.push(WEFT_QUEUE_DMA_IN, fill(static_cast<uint16_t>(i), 128)));
      checked.bench.run();
      REQUIRE(checked.reports.size() == (fills == 5 ? 10 : 11));
      for (unsigned i = 0; i < 10; i++) CHECK(checked.reports[i].find("nothing orders these two") != std::string::npos);
      if (fills == 8) CHECK(checked.reports[10] == "28 pairs in all, of which the first 10 are told");
      checked.bench.reset();
      CHECK(checked.reports.size() == (fills == 5 ? 10 : 11));
    }
  }
}

TEST_CASE("programs whose semaphores order what they share run without a hazard") {
  Checked checked(core::CoreKind::kLockstep);
  for (unsigned i = 0; i < 60; i++) {  // 360 commands: more than a window
    const MatmulProgram program{.m = 8, .tiles = 2, .cols = 8};
    program.place(checked.bench, i);
    REQUIRE(program.push(checked.bench));
    checked.bench.run();
    REQUIRE(program.result(checked.bench) == program.expected(checked.bench));
  }
  CHECK(checked.reports.empty());
  CHECK(bench::fault(checked.bench).code == 0);
  CHECK_FALSE(core::find_mismatch(*checked.bench.core).differs);
}

TEST_CASE("tokens that a window left behind order nothing that they do not") {
  Checked checked(core::CoreKind::kFast);
  REQUIRE(
      checked.bench.push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_SIGNAL, 1, {.post0 = 3, .post_count0 = 1})));
  checked.bench.run();
  // The FILL's wait can be met by the token that is there already: the other one's post does not order them.
  REQUIRE(checked.bench.push(WEFT_QUEUE_DMA_IN, fill(2, 0, {.post0 = 3, .post_count0 = 1})));
  REQUIRE(checked.bench.push(WEFT_QUEUE_DMA_IN, fill(3, 0, {.wait0 = 3, .wait_count0 = 1})));
  checked.bench.run();
  CHECK(checked.reports.size() == 1);
}
