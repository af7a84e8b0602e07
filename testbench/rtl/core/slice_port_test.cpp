// slice_port.sv: remote commands are counted until acknowledged, refusals are faults of who sent, and posts of other
// chips go to the semaphores between those of retirement.
#include <Vslice_port_model.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

/// fault_t of rtl/core/control_pkg.sv, in 96 bits.
struct Fault {
  bool valid;
  unsigned code, unit, queue, tag;
  uint64_t address;
};

class Bench : public weft::bench::VerilatedBench<Vslice_port_model> {
 public:
  Bench() {
    top->open_i = top->ack_valid_i = top->ack_fault_i = top->post_valid_i = top->retire_valid_i = top->overflow_i = 0;
    reset();
  }
  void step() {
    VerilatedBench::step();
    settle();
  }
  template <class Words>
  static Fault fault(const Words& words) {
    return {(words[2] >> 31 & 1) != 0, words[2] >> 23 & 0xff, words[2] >> 19 & 0xf,
            words[2] >> 16 & 7,        words[2] & 0xffff,     words[0] | uint64_t{words[1]} << 32};
  }
  [[nodiscard]] Fault ack_fault() const { return fault(top->ack_fault_o); }
  [[nodiscard]] Fault post_fault() const { return fault(top->post_fault_o); }
  /// What retires: semaphore 0 and 1 with their counts.
  void retire(uint8_t sem0, uint16_t count0, uint8_t sem1, uint16_t count1) {
    top->retire_valid_i = 1;
    top->retire_i = uint64_t{7} << 48 | uint64_t{count1} << 32 | uint64_t{count0} << 16 | uint64_t{sem1} << 8 | sem0;
  }
};

}  // namespace

TEST_CASE("the core waits exactly while more remote commands have set out than were acknowledged") {
  const uint64_t seed = weft::bench::stimulus_seed(1);
  std::mt19937_64 random(seed);
  Bench bench;
  unsigned out = 0, most = 0;
  for (unsigned i = 0; i < 20000; i++) {
    const bool busy_phase = i / 2000 % 2 == 0;
    bench.top->open_i = weft::bench::chance(random, busy_phase ? 60 : 20);
    bench.top->ack_valid_i = out != 0 && weft::bench::chance(random, busy_phase ? 30 : 70);
    bench.settle();
    INFO(weft::bench::rerun_line(seed, bench.cycle()));
    REQUIRE(!!bench.top->waiting_o == (out != 0));
    REQUIRE_FALSE(bench.ack_fault().valid);
    out = out + bench.top->open_i - bench.top->ack_valid_i;
    most = std::max(most, out);
    bench.step();
  }
  CHECK(most > 100);
}

TEST_CASE("after a reset the core waits for none of the remote commands that had set out before it") {
  for (const unsigned commands : {1u, 2u, 5u, 300u}) {
    Bench bench;
    bench.top->open_i = 1;
    for (unsigned i = 0; i < commands; i++) bench.step();
    bench.top->open_i = 0;
    bench.settle();
    REQUIRE(bench.top->waiting_o == 1);
    bench.reset();
    bench.settle();
    CHECK(bench.top->waiting_o == 0);
    // The next one is counted from 0 on.
    bench.top->open_i = 1;
    bench.step();
    bench.top->open_i = 0;
    bench.top->ack_valid_i = 1;
    bench.step();
    bench.top->ack_valid_i = 0;
    bench.settle();
    CHECK(bench.top->waiting_o == 0);
  }
}

TEST_CASE("a command that its receiver refuses is fault ICI of the channel and the tag that sent it") {
  Bench bench;
  for (const unsigned channel : {0u, 1u}) {
    bench.top->open_i = 1;
    bench.top->ack_valid_i = 0;
    bench.step();
    bench.top->open_i = 0;
    bench.top->ack_valid_i = bench.top->ack_fault_i = 1;
    bench.top->ack_channel_i = channel;
    bench.top->ack_tag_i = static_cast<uint16_t>(0x4321 + channel);
    bench.top->ack_address_i = 0x0300'0002'0000'0005 + channel;
    bench.settle();
    const Fault fault = bench.ack_fault();
    CHECK(fault.valid);
    CHECK(fault.code == WEFT_FAULT_ICI);
    CHECK(fault.unit == WEFT_UNIT_DMA2 + channel);
    CHECK(fault.queue == WEFT_QUEUE_DMA_OUT);
    CHECK(fault.tag == 0x4321 + channel);
    CHECK(fault.address == 0x0300'0002'0000'0005 + channel);
    bench.step();
    CHECK(bench.top->waiting_o == 0);
    bench.top->ack_valid_i = 0;
    bench.settle();
    CHECK_FALSE(bench.ack_fault().valid);
  }
}

TEST_CASE("the fault of a refused command tells any tag and address") {
  const uint64_t seed = weft::bench::stimulus_seed(3);
  std::mt19937_64 random(seed);
  Bench bench;
  for (unsigned i = 0; i < 200; i++) {
    const bool refused = random() % 4 != 0;
    bench.top->open_i = bench.top->ack_valid_i = 1;  // one sets out while another is acknowledged: the count stays
    if (i == 0) bench.top->ack_valid_i = 0;
    bench.top->ack_fault_i = refused;
    bench.top->ack_channel_i = random() & 1;
    bench.top->ack_tag_i = static_cast<uint16_t>(random());
    bench.top->ack_address_i = random();
    bench.settle();
    const Fault fault = bench.ack_fault();
    INFO(weft::bench::rerun_line(seed, bench.cycle()));
    REQUIRE(fault.valid == (refused && i != 0));
    if (fault.valid) {
      REQUIRE(fault.unit == WEFT_UNIT_DMA2 + bench.top->ack_channel_i);
      REQUIRE(fault.tag == bench.top->ack_tag_i);
      REQUIRE(fault.address == bench.top->ack_address_i);
    }
    bench.step();
  }
}

TEST_CASE("posts of other chips reach the semaphores in order, in the cycles in which nothing retires") {
  const uint64_t seed = weft::bench::stimulus_seed(2);
  for (const unsigned idle : weft::bench::kStreamLevels)
    for (const unsigned retires : weft::bench::kStreamLevels) {
      std::mt19937_64 random(seed + 100 * idle + retires);
      weft::bench::StreamDriver<uint32_t> posts(random, idle);
      for (unsigned i = 0; i < 200; i++)
        posts.push(static_cast<uint32_t>(48 + random() % 16) << 16 | (1 + random() % 0xffff));
      Bench bench;
      unsigned posted = 0;
      while (!posts.empty() && bench.cycle() < 20000) {
        const uint32_t* post = posts.offer();
        bench.top->post_valid_i = post != nullptr;
        if (post != nullptr) bench.top->post_sem_i = *post >> 16, bench.top->post_count_i = *post & 0xffff;
        const bool retire = weft::bench::chance(random, retires);
        const auto sem = static_cast<uint8_t>(random() % 64);
        const auto count = static_cast<uint16_t>(random());
        bench.top->retire_valid_i = 0;
        if (retire) bench.retire(sem, count, static_cast<uint8_t>(sem ^ 1), static_cast<uint16_t>(~count));
        bench.settle();
        INFO("idles " << idle << " %, retirements " << retires << " %, "
                      << weft::bench::rerun_line(seed, bench.cycle()));
        REQUIRE(!!bench.top->post_ready_o == !retire);
        REQUIRE(!!bench.top->sem_valid_o == (retire || post != nullptr));
        if (retire) {
          REQUIRE((bench.top->sem0_o == sem && bench.top->sem1_o == (sem ^ 1)));
          REQUIRE((bench.top->count0_o == count && bench.top->count1_o == static_cast<uint16_t>(~count)));
        } else if (post != nullptr) {
          REQUIRE((bench.top->sem0_o == *post >> 16 && bench.top->sem1_o == WEFT_NO_SEMAPHORE));
          REQUIRE(bench.top->count0_o == (*post & 0xffff));
          posted++;
        }
        posts.edge(bench.top->post_ready_o);
        bench.step();
      }
      CHECK(posted == 200);
    }
}

TEST_CASE("an overflow is a fault of who posts: of the command that retires, or of the sync unit for another chip") {
  Bench bench;
  bench.top->post_valid_i = 1;
  bench.top->post_sem_i = 50;
  bench.top->post_count_i = 65535;
  bench.top->overflow_i = 1;
  bench.retire(3, 1, WEFT_NO_SEMAPHORE, 0);
  bench.settle();
  CHECK(bench.top->retire_overflow_o == 1);
  CHECK_FALSE(bench.post_fault().valid);
  bench.top->retire_valid_i = 0;
  bench.settle();
  CHECK(bench.top->retire_overflow_o == 0);
  const Fault fault = bench.post_fault();
  CHECK(fault.valid);
  CHECK(fault.code == WEFT_FAULT_SEMAPHORE_OVERFLOW);
  CHECK(fault.unit == WEFT_UNIT_SYNC);
  CHECK(fault.queue == WEFT_QUEUE_SYNC);
  CHECK(fault.tag == 0);
  CHECK(fault.address == 50);
  bench.top->overflow_i = 0;
  bench.settle();
  CHECK_FALSE(bench.post_fault().valid);
}

TEST_CASE("an overflow by another chip names whichever semaphore it is, in the cycle of the post alone") {
  const uint64_t seed = weft::bench::stimulus_seed(4);
  std::mt19937_64 random(seed);
  Bench bench;
  for (unsigned i = 0; i < 300; i++) {
    const bool posts = random() % 2 != 0, overflows = random() % 2 != 0;
    const auto sem =
        static_cast<uint8_t>(WEFT_REMOTE_SEMAPHORE_FIRST + random() % (WEFT_SEMAPHORES - WEFT_REMOTE_SEMAPHORE_FIRST));
    bench.top->post_valid_i = posts;
    bench.top->post_sem_i = sem;
    bench.top->post_count_i = static_cast<uint16_t>(random());
    bench.top->overflow_i = overflows;
    bench.settle();
    const Fault fault = bench.post_fault();
    INFO(weft::bench::rerun_line(seed, bench.cycle()));
    REQUIRE(fault.valid == (posts && overflows));
    if (fault.valid) {
      REQUIRE(fault.code == WEFT_FAULT_SEMAPHORE_OVERFLOW);
      REQUIRE((fault.unit == WEFT_UNIT_SYNC && fault.queue == WEFT_QUEUE_SYNC && fault.address == sem));
    }
    bench.step();
    bench.top->post_valid_i = 0;  // a post is taken or goes on being offered: here taken at once
  }
}
