// Whole programs: their results, their determinism, and that it does not matter how time is cut.
#include <catch2/catch.hpp>
#include <random>

#include "bench.hpp"
#include "model/golden/matmul.hpp"

using namespace weft;
using namespace weft::test;

namespace {

/// Fills the queues as the firmware would, `step` cycles at a time (0: until an event), until all is done.
void run(Bench& bench, const Program& program, uint64_t step) {
  std::array<size_t, WEFT_CORE_QUEUES> next{};
  bench.core.write_csr(WEFT_CSR_QUEUE_LOW, 8);
  for (int guard = 0; guard < 10'000'000; guard++) {
    bool left = false;
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
      while (next[q] < program.queues[q].size() && bench.core.push(q, program.queues[q][next[q]])) next[q]++;
      left = left || next[q] < program.queues[q].size();
    }
    if (!left && !bench.core.busy()) return;
    bench.core.advance(step == 0 ? bench.core.cycle() + 100'000'000 : bench.core.cycle() + step);
    if (bench.core.interrupt()) bench.core.write_csr(WEFT_CSR_INTERRUPT, 7);
  }
  FAIL("the program does not end");
}

void fill_operands(Bench& bench) {
  std::mt19937 random(3);
  for (size_t i = 0; i < (2u << 20); i += 2) {
    const auto v = static_cast<uint16_t>((random() & 0x807f) | (120 + random() % 8) << 7);
    std::memcpy(bench.bus.bytes.data() + i, &v, 2);
  }
}

/// Everything that a run leaves behind.
struct Trace {
  std::vector<std::tuple<char, unsigned, unsigned, uint64_t>> lines;
  std::vector<uint64_t> counters;
  std::vector<std::byte> memory;
  bool operator==(const Trace&) const = default;
};
Trace trace(const char* preset, uint64_t step, uint16_t m, uint32_t k, unsigned blocks) {
  Bench bench(preset);
  fill_operands(bench);
  run(bench, product(bench.chip, m, k, blocks), step);
  bench.core.advance(1'000'000'000);  // beyond what any way of running it reaches
  bench.write(WEFT_CSR_COUNTER_SNAPSHOT, 1);
  Trace t{bench.log.lines, {}, bench.bus.bytes};
  for (uint32_t i = 0; i < WEFT_COUNTERS; i++) t.counters.push_back(bench.counter(static_cast<weft_counter>(i)));
  return t;
}

}  // namespace

TEST_CASE("A double-buffered product leaves the golden bits in memory") {
  const char* preset = GENERATE("nano", "mini", "small");
  const uint32_t k = GENERATE(5u, 64u, 100u);
  Bench bench(preset);
  fill_operands(bench);
  const uint16_t m = 20;
  const unsigned blocks = 7;
  run(bench, product(bench.chip, m, k, blocks), 0);
  REQUIRE(bench.fault_code() == WEFT_FAULT_NONE);
  const uint32_t n = bench.chip.n, tiles = (k + n - 1) / n;
  for (unsigned b = 0; b < blocks; b++) {
    std::vector<float> expected(m * n);
    const auto* x = reinterpret_cast<const uint16_t*>(bench.bus.bytes.data());
    const auto* w = reinterpret_cast<const uint16_t*>(bench.bus.bytes.data() + (1 << 20)) + size_t{b} * tiles * n * n;
    golden::gemm_bf16(m, k, n, x, size_t{tiles} * n, w, n, expected.data(), n, golden::Seed::kZero,
                      golden::Path::kReference);
    REQUIRE(std::memcmp(bench.bus.bytes.data() + (2 << 20) + size_t{b} * m * n * 4, expected.data(),
                        expected.size() * 4) == 0);
  }
  for (uint32_t s = 0; s < WEFT_SEMAPHORES; s++) {
    const bool left_over = s >= 5 && s <= 12;  // the posts of the last two blocks that nobody waits for
    CHECK((bench.csr(WEFT_CSR_SEMAPHORE + 8 * s) == 0 || left_over));
  }
}

TEST_CASE("Time cut into single cycles, odd pieces or none at all gives the same cycles, counters and memory") {
  // The queues hold the whole program, so that refilling them does not depend on when the manager looks.
  const auto whole = trace("nano", 0, 20, 60, 6);
  for (const uint64_t step : {1, 97, 0}) {
    const auto cut = trace("nano", step, 20, 60, 6);
    CHECK(cut.lines == whole.lines);
    CHECK(cut.counters == whole.counters);
    CHECK(cut.memory == whole.memory);
  }
  CHECK(whole.lines.size() == 2 * (6 * 4 + 1));
}

TEST_CASE("A core that says that it is quiet does nothing that others see before that cycle") {
  Bench bench("nano");
  fill_operands(bench);
  const Program program = product(bench.chip, 20, 60, 6);
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
    for (const auto& command : program.queues[q]) REQUIRE(bench.core.push(q, command));
  const auto seen = [&] { return std::tuple(bench.log.lines.size(), bench.core.interrupt(), bench.bus.accesses); };
  size_t quiet_cycles = 0, cycles = 0;
  uint64_t promised = 0;
  auto before = seen();
  for (; bench.core.busy(); cycles++) {
    const uint64_t from = bench.core.cycle();
    bench.core.advance(from + 1);
    if (from + 1 <= promised) {
      quiet_cycles++;
      REQUIRE(seen() == before);
      REQUIRE(bench.core.quiet_until() == promised);
    }
    promised = bench.core.quiet_until();
    REQUIRE(promised >= bench.core.cycle());
    before = seen();
    REQUIRE(cycles < 100'000);
  }
  CHECK(quiet_cycles > cycles / 20);
  CHECK(bench.core.quiet_until() == UINT64_MAX);
}

TEST_CASE("A product that is computed in pieces has the bits of one that is not, however time is cut") {
  const auto dtype = GENERATE(WEFT_MXU_DTYPE_BF16, WEFT_MXU_DTYPE_INT8);
  const char* preset = GENERATE("nano", "nano-4mxu");
  CAPTURE(static_cast<int>(dtype), preset);
  std::vector<uint64_t> ends;
  for (const uint64_t step : {0, 7, 30'001}) {
    Bench bench(preset);
    fill_operands(bench);
    bench.push(WEFT_QUEUE_DMA_IN, copy_in(3, 0, 0, 1 << 17));
    REQUIRE(bench.drain());
    auto seeded = matmul(4, 3, 7, 20, 40, 7, 1), is_long = matmul(0, 1, 8, 20, 30'003, 7, 1);
    is_long.x_tile_stride = 0;
    is_long.w_tile_stride = 0;
    is_long.seed = WEFT_MXU_SEED_KEEP;
    auto after = is_long;  // its rows enter behind the last of the one before it, on other rows of ACC
    after.acc_row = 20;
    after.k = 25'000;
    golden::CoreState expected(bench.chip);
    REQUIRE(bench.core.peek_vmem(0, expected.vmem()));
    core::fast::NoMemory none;
    Program program;
    for (auto* c : {&seeded, &is_long, &after}) {
      c->dtype = static_cast<uint8_t>(dtype);
      program.add(WEFT_QUEUE_MXU, *c);
      REQUIRE_FALSE(expected.execute(spec::encode(*c), WEFT_QUEUE_MXU, none));
    }
    const uint64_t begin = bench.core.cycle();
    run(bench, program, step);
    REQUIRE(bench.fault_code() == WEFT_FAULT_NONE);
    ends.push_back(bench.csr(WEFT_CSR_LAST_RETIRE_CYCLE) - begin);
    for (uint32_t row = 0; row < 40; row++) {
      CAPTURE(row, step);
      CHECK(std::ranges::equal(bench.core.state().acc_row(row), std::as_const(expected).acc_row(row)));
    }
    CHECK(bench.core.state().status().macs == expected.status().macs);
    CHECK(bench.core.state().status().int_overflow == expected.status().int_overflow);
  }
  CHECK(ends.front() > 4u << 14);  // several pieces
  CHECK(ends == std::vector<uint64_t>(3, ends.front()));
}

TEST_CASE("A program on a drained core takes the same cycles again") {
  Bench bench("small");
  fill_operands(bench);
  std::vector<uint64_t> spans;
  for (int i = 0; i < 3; i++) {
    bench.core.write_csr(WEFT_CSR_CONTROL, 1);
    bench.core.advance(bench.core.cycle() + 1000 + static_cast<uint64_t>(i) * 777);
    run(bench, product(bench.chip, 32, 128, 5), 0);
    spans.push_back(bench.csr(WEFT_CSR_LAST_RETIRE_CYCLE) - bench.csr(WEFT_CSR_FIRST_ACCEPT_CYCLE));
  }
  CHECK(spans[0] == spans[1]);
  CHECK(spans[1] == spans[2]);
}

TEST_CASE("The states of every queue, of the MXU and of the VPU add up to the cycles, whenever one looks") {
  Bench bench("nano");
  fill_operands(bench);
  const auto program = product(bench.chip, 24, 80, 5);
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
    for (const auto& c : program.queues[q]) REQUIRE(bench.core.push(q, c));
  for (int i = 0; i < 40; i++) bench.core.advance(bench.core.cycle() + 1);  // the pushes take a cycle each
  bench.write(WEFT_CSR_COUNTER_CLEAR, 1);
  const uint64_t first = bench.core.cycle();
  for (const uint64_t gap : {1, 10, 333, 500, 1000, 5000, 100000}) {
    bench.core.advance(bench.core.cycle() + gap);
    const uint64_t cycles = bench.core.cycle() - first;
    bench.write(WEFT_CSR_COUNTER_SNAPSHOT, 1);
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
      uint64_t sum = 0;
      for (unsigned s = 0; s < 4; s++) sum += bench.counter(static_cast<weft_counter>(q * 5 + s));
      CHECK(sum == cycles);
    }
    uint64_t mxu = 0, vpu = 0;
    for (unsigned i = WEFT_COUNTER_MXU_BUSY; i <= WEFT_COUNTER_MXU_IDLE; i++)
      mxu += bench.counter(static_cast<weft_counter>(i));
    for (unsigned i = WEFT_COUNTER_VPU_BUSY; i <= WEFT_COUNTER_VPU_IDLE; i++)
      vpu += bench.counter(static_cast<weft_counter>(i));
    CHECK(mxu == cycles);
    CHECK(vpu == cycles);
  }
  CHECK(bench.counter(WEFT_COUNTER_MXU_BUSY) == 5u * 10 * 24);
  CHECK(bench.counter(WEFT_COUNTER_MXU_MACS) == 5u * 80 * 24 * 8);
  CHECK(bench.counter(WEFT_COUNTER_VPU_ROWS) == 5u * 24);
  CHECK(bench.counter(WEFT_COUNTER_VPU_BUSY) == 5u * 24);
  CHECK(bench.counter(WEFT_COUNTER_DMA_WRITE_BYTES) == 5u * 24 * 32);
  CHECK(bench.counter(WEFT_COUNTER_QUEUE_MXU_RETIRED) == 5);
}
