// The whole core as RTL: programs over a plain memory, determinism, idle time, counters.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "testbench/unit/model_core/core_bench.hpp"
#include "weft/spec/names.hpp"

namespace {

using namespace weft;
using bench::CoreBench;
using bench::MatmulProgram;

struct Event {
  bool start;
  unsigned unit;
  uint16_t tag;
  uint64_t cycle;
};

class Recorder final : public core::CoreObserver {
 public:
  void command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override {
    events.push_back({true, unit, spec::decode_header(command).tag, cycle});
  }
  void command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override {
    events.push_back({false, unit, spec::decode_header(command).tag, cycle});
  }
  std::vector<Event> events;
};

/// The states of each queue, of the MXU and of the VPU add up to `cycles`.
void check_states(const std::array<uint64_t, WEFT_COUNTERS>& c, uint64_t cycles) {
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
    INFO("queue " << q);
    CHECK(c[5 * q] + c[5 * q + 1] + c[5 * q + 2] + c[5 * q + 3] == cycles);
  }
  uint64_t mxu = 0, vpu = 0;
  for (unsigned i = 0; i < c.size(); i++) {
    const std::string_view name = spec::kCounterNames[i].name;
    if (name.substr(0, 4) == "mxu_" && name != "mxu_macs") mxu += c[i];
    if (name.substr(0, 4) == "vpu_" && name != "vpu_rows") vpu += c[i];
  }
  CHECK(mxu == cycles);
  CHECK(vpu == cycles);
}

uint64_t counter(const std::array<uint64_t, WEFT_COUNTERS>& c, std::string_view name) {
  for (unsigned i = 0; i < c.size(); i++)
    if (spec::kCounterNames[i].name == name) return c[i];
  FAIL("no counter " << name);
  return 0;
}

void check_size(const char* chip) {
  CoreBench bench(chip);
  INFO(chip);
  const MatmulProgram program{.m = 40, .tiles = 2, .cols = bench.chip.n - 3};
  program.place(bench, 7);
  REQUIRE(program.push(bench));
  REQUIRE(bench.run());
  CHECK(bench.read(WEFT_CSR_FAULT_CODE) == 0);
  CHECK(program.result(bench) == program.expected(bench));
}

}  // namespace

TEST_CASE("copy, product, epilogue and copy out, tied by semaphores, give the bits of a plain loop") {
  CoreBench bench("nano");
  Recorder recorder;
  bench.core->set_observer(&recorder);
  for (const unsigned m : {1u, 3u, 8u, 9u, 40u, 64u}) {
    for (const unsigned tiles : {1u, 2u, 5u}) {
      const MatmulProgram program{.m = m, .tiles = tiles, .cols = m == 9 ? 5u : 8u};
      INFO("m " << m << ", tiles " << tiles);
      program.place(bench, m * 10 + tiles);
      REQUIRE(program.push(bench));
      REQUIRE(bench.run());
      REQUIRE(bench.read(WEFT_CSR_FAULT_CODE) == 0);
      REQUIRE(program.result(bench) == program.expected(bench));
    }
  }
  // Every command started once and retired once, on its unit.
  std::array<int, 7> balance{};
  unsigned starts = 0;
  for (const Event& event : recorder.events) {
    const unsigned step = static_cast<unsigned>(event.tag - 1);
    REQUIRE(step < 6);
    balance[step] += event.start ? 1 : -1;
    starts += event.start;
    const std::array<unsigned, 6> queue{0, 0, 0, 1, 2, 3};
    const std::array<unsigned, 7> queue_of_unit{0, 0, 3, 3, 1, 2, 4};
    CHECK(queue_of_unit[event.unit] == queue[step]);
  }
  CHECK(starts == 18 * 6);
  for (const int b : balance) CHECK(b == 0);
  for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) CHECK(bench.read(WEFT_CSR_SEMAPHORE + 8 * i) == 0);
}

TEST_CASE("the same program is right on every size of the array") {
  for (const char* chip : {"small", "v5e-1mxu"}) check_size(chip);
}

TEST_CASE("the same program is right on an array of 16 x 16", "[.mini]") { check_size("mini"); }

TEST_CASE("on a drained core the same program takes the same cycles, at any time and after a reset") {
  CoreBench bench("nano");
  const MatmulProgram program{.m = 20, .tiles = 3, .cols = 8};
  program.place(bench, 3);
  std::vector<uint64_t> cycles;
  for (const uint64_t idle : {0u, 1u, 2u, 3u, 5u, 777u, 1000003u}) {
    bench.skip(idle);
    if (idle == 3) bench.reset();
    bench.write(WEFT_CSR_FIRST_ACCEPT_CYCLE, 0);
    REQUIRE(program.push(bench));
    REQUIRE(bench.run());
    cycles.push_back(bench.read(WEFT_CSR_LAST_RETIRE_CYCLE) - bench.read(WEFT_CSR_FIRST_ACCEPT_CYCLE));
  }
  for (const uint64_t c : cycles) CHECK(c == cycles.front());
  CHECK(cycles.front() > 0);
}

TEST_CASE("an idle core jumps, and the skipped cycles are counted") {
  CoreBench bench("nano");
  const uint64_t start = bench.core->cycle();
  CHECK_FALSE(bench.core->busy());
  CHECK(bench.core->advance(start + 1'000'000'000'000) == start + 1'000'000'000'000);
  CHECK(bench.read(WEFT_CSR_CYCLE) == bench.core->cycle());
  const auto counters = bench.counters();
  check_states(counters, bench.core->cycle() - 1);  // the snapshot holds what was before its own cycle
  CHECK(counter(counters, "queue_mxu_empty") == bench.core->cycle() - 1);
}

TEST_CASE("states of queues, MXU and VPU add up to the cycles, idle and busy ones") {
  CoreBench bench("nano");
  const MatmulProgram program{.m = 33, .tiles = 4, .cols = 8};
  program.place(bench, 5);
  REQUIRE(program.push(bench));
  REQUIRE(bench.run());
  bench.skip(12345);
  const auto counters = bench.counters();
  check_states(counters, bench.core->cycle() - 1);
  CHECK(counter(counters, "mxu_macs") == 33ull * 32 * 8);
  CHECK(counter(counters, "mxu_busy") == 33ull * 4);
  CHECK(counter(counters, "vpu_rows") == 33);
  CHECK(counter(counters, "dma_write_bytes") == 33ull * 32);
  CHECK(counter(counters, "dma_read_bytes") == 33ull * 32 * 2 + 32ull * 16 + 32);
  CHECK(counter(counters, "queue_dma_in_retired") == 3);
  CHECK(counter(counters, "queue_sync_busy") == 0);
  bench.write(WEFT_CSR_COUNTER_CLEAR, 1);
  check_states(bench.counters(), 0);
}

TEST_CASE("latencies of the control are as core/README.md says") {
  CoreBench bench("nano");
  Recorder recorder;
  bench.core->set_observer(&recorder);
  const uint64_t pushed = bench.core->cycle();
  REQUIRE(
      bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_SIGNAL, 1, {.post0 = 5, .post_count0 = 1})));
  REQUIRE(bench.run());
  REQUIRE(recorder.events.size() == 2);
  CHECK(recorder.events[0].cycle == pushed + 2);  // accepted in the cycle of the push, checked, issued
  CHECK(recorder.events[1].cycle == pushed + 4);  // done one cycle after it was taken, retired in the next
  recorder.events.clear();
  const uint64_t waiting = bench.core->cycle();
  REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_WAIT, 2, {.wait0 = 5, .wait_count0 = 1})));
  REQUIRE(bench.run());
  CHECK(recorder.events[0].cycle == waiting + 3);
  CHECK(bench.read(WEFT_CSR_FIRST_ACCEPT_CYCLE) == pushed);
  CHECK(bench.read(WEFT_CSR_LAST_RETIRE_CYCLE) == recorder.events[1].cycle);
}

TEST_CASE("a FENCE holds until every other unit has retired") {
  CoreBench bench("nano");
  Recorder recorder;
  bench.core->set_observer(&recorder);
  const MatmulProgram program{.m = 64, .tiles = 4, .cols = 8};
  program.place(bench, 6);
  REQUIRE(program.push(bench));
  REQUIRE(bench.push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_FENCE, 99)));
  REQUIRE(bench.run());
  uint64_t fence = 0, others = 0;
  for (const Event& event : recorder.events) {
    if (event.start) continue;
    if (event.tag == 99)
      fence = event.cycle;
    else if (event.tag == 1)
      others = event.cycle;
  }
  CHECK(fence > others);
}

TEST_CASE("a full queue refuses, and the level tells how full") {
  CoreBench bench("nano");
  const auto command = bench::sync_command(WEFT_OPCODE_WAIT, 1, {.wait0 = 1, .wait_count0 = 1});
  for (unsigned i = 0; i < WEFT_CORE_QUEUE_DEPTH; i++) REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, command));
  CHECK_FALSE(bench.core->push(WEFT_QUEUE_SYNC, command));
  bench.skip(40);
  CHECK_FALSE(bench.core->push(WEFT_QUEUE_SYNC, command));
  CHECK(bench.read(WEFT_CSR_QUEUE_LEVEL + 8 * WEFT_QUEUE_SYNC) == WEFT_CORE_QUEUE_DEPTH);
  CHECK_FALSE(bench.core->push(WEFT_CORE_QUEUES, command));
  bench.write(WEFT_CSR_SEMAPHORE + 8, 1);
  bench.skip(10);
  CHECK(bench.core->push(WEFT_QUEUE_SYNC, command));
}

TEST_CASE("the whole of VMEM and ACC can be looked at, and nothing beyond") {
  CoreBench bench("nano");
  std::vector<std::byte> word(16), row(32);
  CHECK(bench.core->peek_vmem(bench.chip.vmem_bytes - 16, word));
  CHECK_FALSE(bench.core->peek_vmem(bench.chip.vmem_bytes - 15, word));
  CHECK_FALSE(bench.core->peek_vmem(UINT64_MAX - 3, word));
  CHECK(bench.core->peek_acc(2 * bench.chip.acc_bank_rows - 1, row));
  CHECK_FALSE(bench.core->peek_acc(2 * bench.chip.acc_bank_rows, row));
  CHECK_FALSE(bench.core->peek_acc(0, word));
}

TEST_CASE("a wave file is written for the cycles that were asked for") {
  const auto path = std::filesystem::temp_directory_path() / "weft_rtl_core_test.fst";
  std::filesystem::remove(path);
  {
    CoreBench bench("nano", core::CoreKind::kRtl,
                    {.wave_path = path.string(), .wave_from_cycle = 10, .wave_to_cycle = 200});
    const MatmulProgram program{.m = 8, .tiles = 1, .cols = 8};
    program.place(bench, 1);
    REQUIRE(program.push(bench));
    REQUIRE(bench.run());
  }
  CHECK(std::filesystem::file_size(path) > 1000);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH(CoreBench("nano", core::CoreKind::kRtl, {.wave_path = "/nowhere/x.fst"}),
                    Catch::Contains("/nowhere/x.fst"));
}

TEST_CASE("kinds of cores have names") {
  core::CoreKind kind{};
  CHECK((core::parse_core_kind("rtl", kind) && kind == core::CoreKind::kRtl));
  CHECK((core::parse_core_kind("fast", kind) && kind == core::CoreKind::kFast));
  CHECK((core::parse_core_kind("lockstep", kind) && kind == core::CoreKind::kLockstep));
  CHECK_FALSE(core::parse_core_kind("slow", kind));
}
