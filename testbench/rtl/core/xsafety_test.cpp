// The whole core from random initial values: what no reset sets must not reach a result, a fault or a count of cycles.
#include <catch2/catch.hpp>
#include <cstdint>

#include "testbench/random/program_generator.hpp"
#include "testbench/random/program_plan.hpp"
#include "testbench/random/program_runner.hpp"
#include "testbench/random/random_program.hpp"
#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;

/// Runs programs in lockstep with golden from each seed; verdicts and cycles must be those of a core that starts at 0.
void run_programs(std::string_view chip, random::Legality legality, uint64_t first, unsigned count,
                  std::initializer_list<unsigned> initial_seeds) {
  for (uint64_t seed = first; seed < first + count; seed++) {
    const auto program = random::make_program(random::generate_plan(*spec::find_chip(chip), seed, legality));
    REQUIRE(program);
    const auto zero = random::run_program(*program, core::CoreKind::kLockstep, {});
    INFO("program seed " << seed << "\n" << zero.report);
    REQUIRE(zero.passed);
    for (const unsigned initial : initial_seeds) {
      const auto verdict = random::run_program(*program, core::CoreKind::kLockstep, {.initial_seed = initial});
      INFO("initial seed " << initial << "\n" << verdict.report);
      REQUIRE(verdict.passed);
      REQUIRE(verdict.cycles == zero.cycles);
      REQUIRE(verdict.commands == zero.commands);
    }
  }
}

}  // namespace

TEST_CASE("nano: legal programs give the same results in the same cycles from any initial values") {
  run_programs("nano", random::Legality::kLegal, 5000, 10, {1, 2});
}
TEST_CASE("nano: illegal programs fault alike from any initial values") {
  run_programs("nano", random::Legality::kOneIllegal, 6000, 10, {1, 2});
}
TEST_CASE("nano-4mxu: legal programs give the same results in the same cycles from any initial values", "[nano-4mxu]") {
  run_programs("nano-4mxu", random::Legality::kLegal, 8000, 2, {1, 2});
}
TEST_CASE("small: legal programs give the same results in the same cycles from any initial values", "[small]") {
  run_programs("small", random::Legality::kLegal, 7000, 1, {3});
}

TEST_CASE("a program that reads VMEM that nothing has written since power-up ends with ECC_UNCORRECTABLE",
          "[unwritten]") {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    INFO("initial seed " << seed);
    bench::CoreBench core("nano", core::CoreKind::kRtl, {.initial_seed = seed, .initial_memories = true});
    spec::DmaCommand copy;
    copy.header = bench::header(WEFT_OPCODE_COPY, 77, {});
    copy.dst_seg = 1, copy.size0 = static_cast<uint32_t>(core.chip.vmem_bytes);
    copy.size1 = copy.size2 = copy.size3 = 1;
    REQUIRE(core.push(WEFT_QUEUE_DMA_OUT, encode(copy)));
    REQUIRE(core.run());
    const bench::FaultInfo fault = bench::fault(core);
    CHECK(fault.code == WEFT_FAULT_ECC_UNCORRECTABLE);
    CHECK(fault.queue == WEFT_QUEUE_DMA_OUT);
    CHECK(fault.tag == 77);
    CHECK(fault.address < core.chip.vmem_bytes);
  }
}

TEST_CASE("after power-up from any initial values every register reads what it reads from 0") {
  // one core at a time: the destructors of two Verilated models in one process meet
  const auto read_all = [](unsigned seed) {
    bench::CoreBench core("nano", core::CoreKind::kRtl, {.initial_seed = seed});
    std::vector<uint64_t> values;
    for (uint32_t offset = 0; offset < WEFT_CSR_COUNTER; offset += 8) values.push_back(core.read(offset));
    const auto counters = core.counters();
    values.insert(values.end(), counters.begin(), counters.end());
    values.push_back(core.core->interrupt());
    return values;
  };
  const auto zero = read_all(0);
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    const auto other = read_all(seed);
    INFO("initial seed " << seed);
    REQUIRE(other.size() == zero.size());
    for (size_t i = 0; i < zero.size(); i++) {
      INFO("value " << i << ": registers by 8 bytes, then counters");
      REQUIRE(other[i] == zero[i]);
    }
  }
}
