// Cycles: from command to request to done, beats a cycle, bandwidth of streams, latency hidden.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>

#include "testbench/rtl/dma/dma_reference.hpp"

namespace weft::bench::dma_timing_test {

inline constexpr uint64_t kHbmBytes = 1 << 22;
inline constexpr unsigned kSegment = 3;
inline constexpr unsigned kHeldCommands = 8;  // a channel: dma_pkg::HeldCommands

void prepare(DmaBench& bench) {
  bench.memory.space(WEFT_ADDRESS_SPACE_HBM) = {.base = 0, .bytes = std::vector<uint8_t>(kHbmBytes, 0x33)};
  bench.set_segment(
      kSegment, {.base = 0, .limit = kHbmBytes, .space = WEFT_ADDRESS_SPACE_HBM, .readable = true, .writable = true});
}

spec::DmaCommand command(bool out, uint8_t opcode, uint32_t bytes) {
  spec::DmaCommand c;
  c.header.opcode = opcode;
  c.src_seg = out || opcode == WEFT_OPCODE_FILL ? 0 : kSegment;
  c.dst_seg = out ? kSegment : 0;
  c.size0 = bytes;
  return c;
}

/// The preset's HBM, at the core's clock.
double hbm_bytes_per_cycle() {
  return static_cast<double>(kChip.hbm_bytes_per_second) / static_cast<double>(kChip.clock_hz);
}

TEST_CASE("one command's cycles are those of the formulas in rtl/dma/README.md") {
  const auto model = std::make_shared<DmaModel>();
  for (unsigned beats : {1u, 2u, 7u, 40u})
    for (unsigned latency : {0u, 1u, 10u, 600u}) {
      INFO("beats " << beats << " latency " << latency);
      const uint64_t answer = latency ? latency : 1;  // an answer cannot come in the cycle of its request
      {
        DmaBench bench({.latency_cycles = latency}, 1, model);
        prepare(bench);
        bench.issue_in(command(false, WEFT_OPCODE_COPY, beats * kBeatBytes));
        REQUIRE(bench.run(10000));
        const uint64_t taken = bench.retired.at(0).taken;
        CHECK(*bench.first_mrd == taken + 6);
        CHECK(*bench.last_answer == taken + 6 + beats - 1 + answer);
        CHECK(bench.retired.at(0).done == *bench.last_answer + 2);
      }
      {
        DmaBench bench({.latency_cycles = latency}, 1, model);
        prepare(bench);
        bench.issue_in(command(false, WEFT_OPCODE_FILL, beats * kBeatBytes));
        REQUIRE(bench.run(10000));
        CHECK(bench.retired.at(0).done == bench.retired.at(0).taken + 8 + beats - 1);
      }
      for (uint8_t opcode : {WEFT_OPCODE_COPY, WEFT_OPCODE_FILL}) {
        DmaBench bench({.latency_cycles = latency}, 1, model);
        prepare(bench);
        bench.issue_out(command(true, opcode, beats * kBeatBytes));
        REQUIRE(bench.run(10000));
        const uint64_t taken = bench.retired.at(0).taken;
        CHECK(*bench.first_mwr == taken + 7);
        CHECK(*bench.last_ack == taken + 7 + beats - 1 + answer);
        CHECK(bench.retired.at(0).done == *bench.last_ack + 1);
      }
    }
}

TEST_CASE("a command goes to the channel that holds fewer, to the lower one of two that hold as many") {
  for (const bool out : {false, true}) {
    const unsigned low = out ? 2 : 0;
    DmaBench bench({.latency_cycles = 600});
    prepare(bench);
    const auto issue = [&](uint32_t beats) {
      const spec::DmaCommand c = command(out, WEFT_OPCODE_COPY, beats * kBeatBytes);
      out ? bench.issue_out(c) : bench.issue_in(c);
    };
    const auto held = [&](unsigned channel) { return bench.flying[low + channel].size(); };
    // Nothing retires in the first 600 cycles: they go to and fro, until both hold as many as they can.
    for (unsigned i = 0; i < 20; i++) issue(1);
    for (unsigned i = 0; i < 300; i++) {
      bench.tick();
      INFO("direction " << out << ", cycle " << i);
      REQUIRE((held(0) == held(1) || held(0) == held(1) + 1));
    }
    CHECK(held(0) == kHeldCommands);
    CHECK(held(1) == kHeldCommands);
    REQUIRE(bench.run(5000));
    // A long one stays on the lower channel while the other becomes free.
    issue(300);
    issue(1);
    const auto tick_until_retired = [&](size_t commands) {
      for (unsigned i = 0; i < 5000 && bench.retired.size() < commands; i++) bench.tick();
      REQUIRE(bench.retired.size() == commands);
    };
    tick_until_retired(21);
    CHECK(bench.retired.back().channel == low + 1);
    REQUIRE(held(0) == 1);
    issue(1);
    for (unsigned i = 0; i < 10; i++) bench.tick();
    CHECK(held(1) == 1);
    issue(1);
    for (unsigned i = 0; i < 10; i++) bench.tick();
    CHECK(held(0) == 2);
    REQUIRE(bench.run(5000));
  }
}

TEST_CASE("while the channel that holds fewer checks a command, the other one takes the next") {
  for (const bool out : {false, true}) {
    const unsigned low = out ? 2 : 0;
    INFO("direction " << out);
    DmaBench bench({.latency_cycles = 600});
    prepare(bench);
    const auto issue = [&](uint32_t beats) {
      const spec::DmaCommand c = command(out, WEFT_OPCODE_COPY, beats * kBeatBytes);
      out ? bench.issue_out(c) : bench.issue_in(c);
    };
    const auto held = [&](unsigned channel) { return bench.flying[low + channel].size(); };
    // by turns: two long ones on the lower channel, asked for in full before the first answer, two short ones beside
    // them
    issue(60), issue(1), issue(60), issue(1);
    for (unsigned i = 0; i < 5000 && bench.retired.size() < 2; i++) bench.tick();
    REQUIRE(bench.retired.size() == 2);
    REQUIRE(held(0) == 2);
    REQUIRE(held(1) == 0);
    issue(1), issue(1);
    while (held(0) + held(1) < 4) bench.tick();
    CHECK(bench.flying[low].back().taken == bench.flying[low + 1].back().taken + 1);
    REQUIRE(bench.run(20000));
  }
}

TEST_CASE("short runs move one run a cycle, each way and both ways at once") {
  constexpr unsigned kRuns = 1000;
  const auto short_runs = [](bool out) {
    spec::DmaCommand c = command(out, WEFT_OPCODE_COPY, 16);
    c.size1 = kRuns;
    (out ? c.src_stride1 : c.dst_stride1) = static_cast<int32_t>(kWordBytes);
    (out ? c.dst_stride1 : c.src_stride1) = 48;
    c.src_off = out ? 0 : 4096, c.dst_off = out ? 4096 : kRuns * kWordBytes;
    return c;
  };
  DmaBench bench({.latency_cycles = 100});
  prepare(bench);
  bench.issue_in(short_runs(false));
  bench.issue_out(short_runs(true));
  REQUIRE(bench.run(10000));
  for (const auto& life : bench.retired) {
    fmt::print("{} runs of 16 bytes, channel {}: {} cycles\n", kRuns, life.channel, life.done - life.taken);
    CHECK(life.done - life.taken <= kRuns + 100 + 9);
  }
}

TEST_CASE("a long stream hides 600 cycles of latency and moves a beat a cycle") {
  DmaBench bench({.latency_cycles = 600});
  prepare(bench);
  const unsigned beats = static_cast<unsigned>(std::min<uint64_t>(kChip.vmem_bytes, kHbmBytes) / kBeatBytes);
  // Two commands, one a channel: 2 x 512 beats may be outstanding.
  bench.issue_in(command(false, WEFT_OPCODE_COPY, beats / 2 * kBeatBytes));
  bench.issue_in(command(false, WEFT_OPCODE_COPY, beats / 2 * kBeatBytes));
  REQUIRE(bench.run(100000));
  const uint64_t cycles = bench.retired.back().done - bench.retired.front().taken;
  fmt::print("{} beats in {} cycles\n", beats, cycles);
  CHECK(cycles <= beats + 600 + 9);
}

TEST_CASE("one channel keeps as many beats outstanding as core.toml says") {
  DmaBench bench({.latency_cycles = 600});
  prepare(bench);
  bench.issue_in(command(false, WEFT_OPCODE_COPY, 2048 * kBeatBytes));
  bench.issue_out(command(true, WEFT_OPCODE_COPY, 2048 * kBeatBytes));
  for (unsigned i = 0; i < 600; i++) bench.tick();
  CHECK(bench.counted_read_beats == WEFT_CORE_DMA_OUTSTANDING_BEATS);
  CHECK(bench.counted_write_beats == WEFT_CORE_DMA_OUTSTANDING_WRITES);
}

TEST_CASE("a stream of 32 KiB commands keeps at least 97 percent of the memory's bandwidth") {
  struct Case {
    unsigned latency_cycles;
    unsigned held;  // commands a channel
  };
  // With 600 cycles of latency a preset of 540 bytes a cycle needs ten such commands under way, so channels hold
  // several.
  const auto [latency, held] = GENERATE(Case{20, 1}, Case{20, 8}, Case{600, 8});
  const bool out = GENERATE(false, true);
  constexpr unsigned kCommands = 200;
  constexpr uint32_t kBytes = 32768;
  DmaBench bench({.latency_cycles = latency, .bytes_per_cycle = hbm_bytes_per_cycle()});
  prepare(bench);
  bench.limit_held(held);
  for (unsigned i = 0; i < kCommands; i++) {
    spec::DmaCommand c = command(out, WEFT_OPCODE_COPY, kBytes);
    (out ? c.src_off : c.dst_off) = static_cast<uint64_t>(i) * kBytes % (kChip.vmem_bytes / 2);
    (out ? c.dst_off : c.src_off) = static_cast<uint64_t>(i) * kBytes % kHbmBytes;
    out ? bench.issue_out(c) : bench.issue_in(c);
  }
  REQUIRE(bench.run(1'000'000));
  // What the first request and the last answer take once is not the stream's.
  const double cycles = static_cast<double>(bench.retired.back().done - bench.retired.front().taken - latency - 8);
  const double rate = kCommands * static_cast<double>(kBytes) / cycles;
  fmt::print("{}: {} x 32 KiB {}, latency {}, {} held a channel: {:.1f} of {:.1f} bytes a cycle, {:.2f} %\n",
             kChip.name, kCommands, out ? "out" : "in", latency, held, rate, hbm_bytes_per_cycle(),
             100 * rate / hbm_bytes_per_cycle());
  CHECK(rate >= 0.97 * hbm_bytes_per_cycle());
}

TEST_CASE("commands of one beat follow each other on two channels") {
  constexpr unsigned kCommands = 200;
  DmaBench bench({.latency_cycles = 1});
  prepare(bench);
  for (unsigned i = 0; i < kCommands; i++) bench.issue_in(command(false, WEFT_OPCODE_COPY, kBeatBytes));
  REQUIRE(bench.run(10000));
  const double each = static_cast<double>(bench.retired.back().done - bench.retired.front().taken) / kCommands;
  fmt::print("commands of one beat: {:.2f} cycles each\n", each);
  CHECK(each <= 2.2);
}

}  // namespace weft::bench::dma_timing_test
