// issue.sv: commands of a queue are checked, wait, and are offered in order; stop holds every step; what the queue's
// state is in each cycle.
#include <Vissue_model.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <random>

#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/commands.hpp"

namespace {

using namespace weft::bench;
using weft::spec::Command;
using weft::spec::CommandHeader;

enum State : unsigned { kBusy, kWaiting, kBlocked, kEmpty };

constexpr unsigned kReservedByte = 19;  // of a COPY

/// The default parameter: the queue of dma_in.
Command command(uint16_t tag, bool waits, uint8_t opcode = WEFT_OPCODE_COPY) {
  CommandHeader header;
  header.opcode = opcode;
  header.tag = tag;
  if (waits) header.wait_sem0 = 3, header.wait_count0 = 1;
  return encode(header);
}

class IssueBench : public VerilatedBench<Vissue_model> {
 public:
  IssueBench() {
    top->stop_i = top->head_valid_i = top->wait_grant_i = top->cmd_taken_i = top->unit_active_i = top->raise_i = 0;
    reset();
  }
  void head(const std::optional<Command>& command) {
    top->head_valid_i = command.has_value();
    if (command) std::memcpy(top->head_i.data(), command->bytes.data(), command->bytes.size());
  }
  [[nodiscard]] unsigned state() {
    settle();
    return top->state_o;
  }
  [[nodiscard]] unsigned fault_code() const { return top->fault_o[2] >> 31 & 1 ? top->fault_o[2] >> 23 & 0xff : 0; }
  [[nodiscard]] uint64_t fault_address() const { return top->fault_o[0] | uint64_t{top->fault_o[1]} << 32; }
  [[nodiscard]] uint16_t offered_tag() const {
    Command out;
    std::memcpy(out.bytes.data(), top->cmd_o.data(), out.bytes.size());
    return weft::spec::decode_header(out).tag;
  }
};

}  // namespace

TEST_CASE("a command without waits is offered in the cycle after it is at the head, one with waits when granted") {
  for (const bool waits : {false, true}) {
    IssueBench bench;
    bench.head(command(7, waits));
    bench.settle();
    CHECK_FALSE(bench.top->cmd_valid_o);
    bench.step();
    bench.settle();
    CHECK(!!bench.top->wait_valid_o == waits);
    CHECK(!!bench.top->cmd_valid_o == !waits);
    if (waits) {
      CHECK(bench.state() == kWaiting);
      for (unsigned i = 0; i < 5; i++) bench.step();
      bench.settle();
      CHECK_FALSE(bench.top->cmd_valid_o);
      bench.top->wait_grant_i = 1;
      CHECK(bench.state() == kBusy);
      bench.step();
      bench.top->wait_grant_i = 0;
      bench.settle();
      CHECK(bench.top->cmd_valid_o);
    }
    CHECK(bench.state() == kBlocked);
    CHECK(bench.offered_tag() == 7);
    CHECK_FALSE(bench.top->pop_o);
    bench.top->cmd_taken_i = 1;
    CHECK(bench.state() == kBusy);
    CHECK(bench.top->pop_o);
  }
}

TEST_CASE("an empty queue is busy while its unit is active, else empty") {
  IssueBench bench;
  CHECK(bench.state() == kEmpty);
  bench.top->unit_active_i = 1;
  CHECK(bench.state() == kBusy);
}

TEST_CASE("a refused command reports its fault once, and nothing follows it until reset") {
  IssueBench bench;
  bench.top->raise_code_i = WEFT_FAULT_RANGE, bench.top->raise_address_i = UINT64_MAX;  // nothing is raised
  bench.head(command(9, false, WEFT_OPCODE_MATMUL));
  bench.settle();
  CHECK(bench.fault_code() == WEFT_FAULT_ILLEGAL_OPCODE);
  CHECK(bench.fault_address() == WEFT_OPCODE_MATMUL);
  CHECK((bench.top->fault_o[2] & 0xffff) == 9);
  bench.step();
  for (unsigned i = 0; i < 20; i++) {
    bench.settle();
    CHECK(bench.fault_code() == 0);
    CHECK_FALSE(bench.top->cmd_valid_o);
    CHECK_FALSE(bench.top->pop_o);
    CHECK(bench.state() == kBlocked);
    bench.step();
  }
  bench.reset();
  bench.head(command(10, false));
  bench.step();
  bench.settle();
  CHECK(bench.top->cmd_valid_o);
}

TEST_CASE("stop holds the check, the wait and the offer, and after it they go on") {
  for (unsigned at = 0; at < 3; at++) {
    IssueBench bench;
    bench.head(command(5, true));
    if (at > 0) bench.step();  // checked
    if (at > 1) {
      bench.top->wait_grant_i = 1;
      bench.step();
      bench.top->wait_grant_i = 0;
    }
    bench.top->stop_i = 1;
    for (unsigned i = 0; i < 10; i++) {
      bench.settle();
      INFO("stopped in step " << at);
      CHECK_FALSE(bench.top->wait_valid_o);
      CHECK_FALSE(bench.top->cmd_valid_o);
      CHECK(bench.state() == (at == 1 ? kWaiting : kBlocked));
      bench.step();
    }
    bench.top->stop_i = 0;
    if (at == 0) bench.step();
    bench.settle();
    CHECK(!!bench.top->wait_valid_o == (at < 2));
    CHECK(!!bench.top->cmd_valid_o == (at == 2));
  }
}

TEST_CASE("a fault that is raised at the check refuses the command, with its code and address and the command's tag") {
  std::mt19937_64 random(stimulus_seed(2));
  for (unsigned i = 0; i < 500; i++) {
    IssueBench bench;
    const auto tag = static_cast<uint16_t>(random());
    const uint64_t address = random();
    const auto code = static_cast<uint8_t>(random());
    const bool illegal = random() % 4 == 0;  // what is raised stands before what the check finds
    bench.top->raise_i = 1, bench.top->raise_code_i = code, bench.top->raise_address_i = address;
    bench.settle();
    CHECK((bench.top->fault_o[2] >> 31 & 1) == 0);  // nothing is checked yet
    CHECK_FALSE(bench.top->checked_o);
    bench.head(command(tag, random() % 2 != 0, illegal ? WEFT_OPCODE_MATMUL : WEFT_OPCODE_COPY));
    bench.settle();
    CHECK(bench.top->checked_o);
    CHECK((bench.top->fault_o[2] >> 31 & 1) == 1);
    CHECK((bench.top->fault_o[2] >> 23 & 0xff) == code);
    CHECK((bench.top->fault_o[2] & 0xffff) == tag);
    CHECK(bench.fault_address() == address);
    bench.step();
    bench.top->raise_i = 0, bench.top->raise_code_i ^= 0xff, bench.top->raise_address_i = ~address;
    bench.step();
    bench.settle();
    CHECK((bench.top->fault_o[2] >> 31 & 1) == 0);  // told once
    CHECK(bench.state() == kBlocked);
    CHECK_FALSE(bench.top->cmd_valid_o);
    CHECK_FALSE(bench.top->wait_valid_o);
  }
}

TEST_CASE("all bits of a command come out as they went in") {
  const uint64_t seed = stimulus_seed(3);
  std::mt19937_64 random(seed);
  IssueBench bench;
  const auto any_command = [&] {
    Command c = command(static_cast<uint16_t>(random()), false);
    for (unsigned at = 16; at < c.bytes.size(); at++) c.bytes[at] = static_cast<uint8_t>(random());
    for (const unsigned at : {4u, 5u}) {  // a wait, another one
      const bool none = random() % 3 == 0;
      c.bytes[at] = static_cast<uint8_t>(none ? 0xff : (random() % 32) * 2 + at % 2);
      const auto count = static_cast<uint16_t>(none ? 0 : random() | 1);
      std::memcpy(&c.bytes[8 + 2 * (at - 4)], &count, 2);
    }
    for (const unsigned at : {6u, 7u}) {
      const bool none = random() % 3 == 0;
      c.bytes[at] = static_cast<uint8_t>(none ? 0xff : (random() % 32) * 2 + at % 2);
      const auto count = static_cast<uint16_t>(none ? 0 : random() | 1);
      std::memcpy(&c.bytes[12 + 2 * (at - 6)], &count, 2);
    }
    c.bytes[kReservedByte] = 0;
    return c;
  };
  for (unsigned i = 0; i < 1000; i++) {
    const Command c = any_command();
    bench.head(c);
    bench.step();
    bench.settle();
    INFO("command " << i << "; " << rerun_line(seed, bench.cycle()));
    if (bench.top->fault_o[2] >> 31 & 1) FAIL("refused");
    const bool waits = c.bytes[4] != 0xff || c.bytes[5] != 0xff;
    REQUIRE(!!bench.top->wait_valid_o == waits);
    bench.top->unit_active_i = random() % 2;
    if (waits) {
      bench.top->wait_grant_i = 1;
      bench.step();
      bench.top->wait_grant_i = 0;
      bench.settle();
    }
    REQUIRE(bench.top->cmd_valid_o);
    REQUIRE(std::memcmp(bench.top->cmd_o.data(), c.bytes.data(), c.bytes.size()) == 0);
    bench.top->cmd_taken_i = 1;
    bench.step();
    bench.top->cmd_taken_i = 0;
  }
}

TEST_CASE("at every level of idles, refused waits and busy units all commands are offered once, in order") {
  const uint64_t seed = stimulus_seed(1);
  for (const unsigned idle : kStreamLevels)
    for (const unsigned refuse : kStreamLevels) {
      std::mt19937_64 random(seed + idle * 100 + refuse);
      IssueBench bench;
      std::deque<Command> queue;
      uint16_t next = 0, expected = 0;
      bool granted = false;
      while (expected < 500 && bench.cycle() < 50000) {
        if (queue.size() < 16 && next < 500 && !chance(random, idle)) queue.push_back(command(next++, random() % 2));
        bench.head(queue.empty() ? std::nullopt : std::optional(queue.front()));
        bench.top->wait_grant_i = bench.top->cmd_taken_i = 0;
        bench.settle();
        const bool waits = !queue.empty() && weft::spec::decode_header(queue.front()).wait_sem0 != 0xff;
        bench.top->wait_grant_i = bench.top->wait_valid_o && !chance(random, refuse);
        bench.top->cmd_taken_i = bench.top->cmd_valid_o && !chance(random, refuse);
        bench.settle();
        INFO("idles " << idle << " %, refused " << refuse << " %; " << rerun_line(seed, bench.cycle()));
        if (bench.top->wait_grant_i) REQUIRE_FALSE(std::exchange(granted, true));
        if (bench.top->cmd_taken_i) {
          REQUIRE(bench.offered_tag() == expected);
          REQUIRE(granted == waits);
          granted = false;
          expected++;
        }
        const bool pop = bench.top->pop_o;
        bench.step();
        if (pop) queue.pop_front();
      }
      CHECK(expected == 500);
    }
}
