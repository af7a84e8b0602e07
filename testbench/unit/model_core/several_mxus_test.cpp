// Several MXUs in a core: they compute side by side and retire in the order of their queue; their faults are their own.
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "testbench/unit/model_core/injection_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;

constexpr const char* kChip = "nano-4mxu";
constexpr core::CoreKind kBoth[] = {core::CoreKind::kRtl, core::CoreKind::kFast};

/// m rows of x times K = 8 on MXU `mxu`, into row `acc_row` of its ACC.
spec::MxuCommand product(uint16_t tag, unsigned mxu, uint16_t m, uint16_t acc_row = 0) {
  spec::MxuCommand c;
  c.header = bench::header(WEFT_OPCODE_MATMUL, tag, {});
  c.w_addr = 1024, c.x_row_stride = 1, c.k = 8, c.m = m, c.cols = 8, c.acc_row = acc_row;
  c.dtype = WEFT_MXU_DTYPE_BF16, c.mxu = static_cast<uint8_t>(mxu);
  return c;
}

/// x: row r is r + 1 in lane 0; w: word 0 is 1 in all lanes: every lane of result row r is r + 1.
void load_operands(CoreBench& bench) {
  const auto bf16 = [](unsigned value) {
    const auto number = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return static_cast<uint16_t>(bits >> 16);
  };
  std::vector<uint16_t> words(2048 * 8);
  for (unsigned r = 0; r < 64; r++) words[size_t{r} * 8] = bf16(r + 1);
  for (unsigned lane = 0; lane < 8; lane++) words[1024 * 8 + lane] = bf16(1);
  std::memcpy(bench.bus.memory(WEFT_ADDRESS_SPACE_HBM).data(), words.data(), words.size() * 2);
  spec::DmaCommand copy;
  copy.header = bench::header(WEFT_OPCODE_COPY, 0x100, {});
  copy.src_seg = 1, copy.size0 = static_cast<uint32_t>(words.size() * 2);
  REQUIRE(bench.push(WEFT_QUEUE_DMA_IN, encode(copy)));
  REQUIRE(bench.run());
}

struct Ends final : core::CoreObserver {
  struct End {
    weft_unit_index unit;
    uint16_t tag;
    uint64_t cycle;
  };
  void command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override {
    starts.push_back({unit, spec::decode_header(command).tag, cycle});
  }
  void command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override {
    ends.push_back({unit, spec::decode_header(command).tag, cycle});
  }
  std::vector<End> starts, ends;
};

float lane_0(CoreBench& bench, uint32_t acc_row) {
  std::vector<std::byte> row(bench.chip.n * 4);
  REQUIRE(bench.core->peek_acc(acc_row, row));
  float value;
  std::memcpy(&value, row.data(), sizeof value);
  return value;
}

}  // namespace

TEST_CASE("four MXUs compute side by side, each into its ACC, and retire in the order of their queue") {
  for (const auto kind : {core::CoreKind::kRtl, core::CoreKind::kFast, core::CoreKind::kLockstep}) {
    CoreBench bench(kChip, kind);
    load_operands(bench);
    Ends log;
    bench.core->set_observer(&log);
    // the first takes longest: the others are done before it
    const uint16_t rows[] = {64, 8, 16, 9, 8};
    const unsigned mxus[] = {2, 0, 3, 1, 0};
    for (unsigned i = 0; i < 5; i++)
      REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(static_cast<uint16_t>(i), mxus[i], rows[i]))));
    REQUIRE(bench.run());
    REQUIRE(log.ends.size() == 5);
    for (unsigned i = 0; i < 5; i++) {
      CHECK(log.ends[i].tag == i);
      CHECK(log.starts[i].cycle < log.ends[0].cycle);
      CHECK(log.ends[i].unit == (mxus[i] == 0 ? WEFT_UNIT_MXU : WEFT_UNIT_MXU1 + mxus[i] - 1));
    }
    CHECK(log.ends[4].cycle == log.ends[0].cycle + 4);
    const uint32_t unit_rows = 2 * bench.chip.acc_bank_rows;
    for (unsigned i = 0; i < 4; i++) CHECK(lane_0(bench, mxus[i] * unit_rows + rows[i] - 1u) == rows[i]);
  }
}

TEST_CASE("the states of all MXUs add up to four times the cycles, on the RTL as on the fast core") {
  std::vector<std::array<uint64_t, WEFT_COUNTERS>> counters;
  for (const auto kind : kBoth) {
    CoreBench bench(kChip, kind);
    load_operands(bench);
    const auto before = bench.counters();
    const uint64_t from = bench.core->cycle();
    for (unsigned i = 0; i < 12; i++)
      REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(static_cast<uint16_t>(i), i % 4, 16))));
    REQUIRE(bench.run());
    auto after = bench.counters();
    const uint64_t cycles = bench.core->cycle() - from;
    uint64_t states = 0;
    for (unsigned s = 0; s < 6; s++) states += after[WEFT_COUNTER_MXU_BUSY + s] - before[WEFT_COUNTER_MXU_BUSY + s];
    CHECK(states == 4 * cycles);
    CHECK(after[WEFT_COUNTER_MXU_BUSY] - before[WEFT_COUNTER_MXU_BUSY] == 12 * 16);
    CHECK(after[WEFT_COUNTER_MXU_MACS] - before[WEFT_COUNTER_MXU_MACS] == 12 * 16 * 64);
    counters.push_back(after);
  }
  CHECK(counters[0] == counters[1]);
}

TEST_CASE("an MXU that does not exist is refused, by the first one, with the offset of the field") {
  for (const auto kind : kBoth)
    for (const char* chip : {"nano", kChip}) {
      CoreBench bench(chip, kind);
      REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(3, bench.chip.num_mxu, 8))));
      REQUIRE(bench.run());
      const auto fault = bench::fault(bench);
      CHECK(fault.code == WEFT_FAULT_ILLEGAL_FIELD);
      CHECK(fault.unit == WEFT_UNIT_MXU);
      CHECK(fault.address == 48);
    }
}

TEST_CASE("two MXUs that fault are two faults, whichever cycles they fault in, and the first is kept") {
  unsigned together = 0;
  for (uint16_t rows = 8; rows <= 40; rows++) {
    std::vector<bench::FaultInfo> faults;
    for (const auto kind : kBoth) {
      CoreBench bench(kChip, kind);
      load_operands(bench);
      REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(1, 3, 24))));
      REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(2, 1, rows))));
      REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(3, 3, 8, 60))));  // beyond its bank
      REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(4, 1, 8, 61))));
      REQUIRE(bench.run());
      bench.skip(200);
      faults.push_back(bench::fault(bench));
      CHECK(faults.back().count == 2);
      CHECK(faults.back().code == WEFT_FAULT_ACC_RANGE);
      CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_MXU) == 2);
      CHECK_FALSE(bench.core->busy());
    }
    INFO("rows " << rows);
    CHECK(faults[0].unit == faults[1].unit);
    CHECK(faults[0].cycle == faults[1].cycle);
    together += faults[0].unit == WEFT_UNIT_MXU1;
  }
  CHECK(together != 0);
}

TEST_CASE("a poisoned seed names its ACC row among those of all MXUs, and commands behind it are given up") {
  std::vector<bench::Outcome> outcomes;
  for (const auto kind : kBoth) {
    CoreBench bench(kChip, kind);
    load_operands(bench);
    const uint32_t row = 2 * 2 * bench.chip.acc_bank_rows + 5;  // of MXU 2
    bench::inject(bench, {.kind = WEFT_INJECT_KIND_ACC_FLIP, .address = row | 3u << 16, .data = 3, .n = 1});
    REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(1, 2, 8))));
    REQUIRE(bench.run());
    auto keep = product(2, 2, 8);
    keep.seed = WEFT_MXU_SEED_KEEP;
    REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(keep)));
    REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(3, 0, 8))));
    REQUIRE(bench.run());
    bench.skip(200);
    const auto fault = bench::fault(bench);
    CHECK(fault.code == WEFT_FAULT_ECC_UNCORRECTABLE);
    CHECK(fault.unit == WEFT_UNIT_MXU2);
    CHECK(fault.address == (uint64_t{1} << 63 | row));
    CHECK(fault.tag == 2);
    CHECK_FALSE(bench.core->busy());
    CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_MXU) == 1);
    outcomes.push_back(bench::outcome(bench));
    bench.reset();
    load_operands(bench);
    REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(4, 2, 8))));
    REQUIRE(bench.run());
    CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_MXU) == 1);
  }
  CHECK(outcomes[0].fault.cycle == outcomes[1].fault.cycle);
  CHECK(outcomes[0].counters == outcomes[1].counters);
}

TEST_CASE("a done that is lost on one MXU ends in WATCHDOG, and nothing stays busy") {
  std::vector<bench::FaultInfo> faults;
  for (const auto kind : kBoth) {
    CoreBench bench(kChip, kind);
    load_operands(bench);
    bench.write(WEFT_CSR_WATCHDOG_LIMIT, 1000);
    bench::inject(bench, {.kind = WEFT_INJECT_KIND_LOST_DONE, .queue = WEFT_QUEUE_MXU, .n = 2});
    for (unsigned i = 0; i < 4; i++)
      REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product(static_cast<uint16_t>(i), 3 - i, 8))));
    REQUIRE(bench.run());
    bench.skip(100);
    faults.push_back(bench::fault(bench));
    CHECK(faults.back().code == WEFT_FAULT_WATCHDOG);
    CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_MXU) == 1);
    CHECK_FALSE(bench.core->busy());
  }
  CHECK(faults[0].cycle == faults[1].cycle);
  CHECK(faults[0].unit == faults[1].unit);
}

TEST_CASE("a double error in the ACC of any MXU is that MXU's fault, with the row counted over all of them") {
  for (unsigned mxu = 0; mxu < 4; mxu++) {
    std::vector<bench::FaultInfo> faults;
    for (const auto kind : kBoth) {
      CoreBench bench(kChip, kind);
      load_operands(bench);
      const uint32_t row = mxu * 2 * bench.chip.acc_bank_rows + 5;
      bench::inject(bench, {.kind = WEFT_INJECT_KIND_ACC_FLIP, .address = row | uint64_t{2} << 16, .data = 3, .n = 1});
      auto c = product(7, mxu, 16);
      c.k = 16, c.x_tile_stride = 64, c.w_tile_stride = 0;  // the second tile reads what the first has written
      REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(c)));
      REQUIRE(bench.run());
      faults.push_back(bench::fault(bench));
      CHECK(faults.back().code == WEFT_FAULT_ECC_UNCORRECTABLE);
      CHECK(faults.back().unit == (mxu == 0 ? WEFT_UNIT_MXU : WEFT_UNIT_MXU1 + mxu - 1));
      CHECK(faults.back().tag == 7);
      CHECK(faults.back().address == (uint64_t{1} << 63 | row));
    }
    CHECK(faults[0].cycle == faults[1].cycle);
  }
}

TEST_CASE("a double error in any lane of a row of any MXU stops the epilogue that reads it") {
  for (unsigned mxu = 0; mxu < 4; mxu++)
    for (const unsigned lane : {0u, 7u})
      for (const auto kind : kBoth) {
        CoreBench bench(kChip, kind);
        load_operands(bench);
        const uint32_t first_row = mxu * 2 * bench.chip.acc_bank_rows;
        bench::inject(
            bench,
            {.kind = WEFT_INJECT_KIND_ACC_FLIP, .address = (first_row + 5) | uint64_t{lane} << 16, .data = 3, .n = 1});
        auto c = product(7, mxu, 8);
        c.header = bench::header(WEFT_OPCODE_MATMUL, 7, {.post0 = 0, .post_count0 = 1});
        spec::VpuCommand epilogue;
        epilogue.header = bench::header(WEFT_OPCODE_EPILOGUE, 8, {.wait0 = 0, .wait_count0 = 1});
        epilogue.src_space = WEFT_VPU_SPACE_ACC;
        epilogue.src_dtype = epilogue.dst_dtype = WEFT_VPU_DTYPE_F32;
        epilogue.rows = 8, epilogue.cols = 8;
        epilogue.a_addr = first_row, epilogue.a_stride = 1, epilogue.d_addr = 1100, epilogue.d_stride = 2;
        REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(c)));
        REQUIRE(bench.push(WEFT_QUEUE_VPU, encode(epilogue)));
        REQUIRE(bench.run());
        INFO("MXU " << mxu << ", lane " << lane);
        const auto fault = bench::fault(bench);
        CHECK(fault.code == WEFT_FAULT_ECC_UNCORRECTABLE);
        CHECK(fault.unit == WEFT_UNIT_VPU);
        CHECK(fault.tag == 8);
        CHECK(fault.address == (uint64_t{1} << 63 | (first_row + 5)));
      }
}
