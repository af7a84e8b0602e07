/// command_prefetch.sv with a memory and five queues around it, against the words of rtl/core/README.md.
#pragma once
#include <Vcommand_prefetch_model.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace weft::prefetch {

inline constexpr unsigned kQueues = WEFT_CORE_QUEUES, kDepth = WEFT_CORE_PREFETCH_COMMANDS;
inline constexpr uint64_t kStep = WEFT_COMMAND_BYTES;

using Words = std::array<uint32_t, WEFT_COMMAND_BYTES / 4>;

/// What memory holds at an address: no two are alike.
inline Words contents(uint64_t address) {
  Words words;
  for (unsigned i = 0; i < words.size(); i++)
    words[i] = static_cast<uint32_t>((address / kStep + 1) * 0x9e3779b97f4a7c15 >> 16) + i * 0x85ebca6b;
  return words;
}

/// What a DMA queue gets of the command that memory holds, by rtl/core/README.md, "Two fetches".
inline Words as_pushed(unsigned queue, Words words, bool version1) {
  if (queue != WEFT_QUEUE_DMA_IN && queue != WEFT_QUEUE_DMA_OUT) return words;
  auto* bytes = reinterpret_cast<uint8_t*>(words.data());
  const bool remote = (bytes[1] & WEFT_COMMAND_FLAG_REMOTE) != 0;
  for (const unsigned at : {16u, 17u}) {
    if (bytes[at] != 0 && version1 && (at == 16 || !remote)) bytes[at] |= 32;
  }
  return words;
}

/// What the README says of one of a queue's fetches.
struct Expected {
  uint64_t base = 0;
  uint64_t count = 0, asked = 0, pushed = 0;
  std::optional<uint64_t> error;  // of which command memory answers with an error
  bool dead = false;
  [[nodiscard]] bool active() const { return pushed != count; }
};

struct Levels {
  unsigned refuse_percent = 0;  // memory takes no request
  unsigned late_percent = 0;    // no answer though one is due
  unsigned latency = 1;         // cycles
  unsigned push_percent = 0;    // the manager pushes: no command enters a queue
  unsigned hold_percent = 0;    // a queue is not emptied
};

/// The block, a memory and five queues of 16 around it. What breaks a rule is a failure in the cycle in which it does.
class Bench : public weft::bench::VerilatedBench<Vcommand_prefetch_model> {
 public:
  Bench(std::mt19937_64& random, const Levels& levels) : random_(random), levels_(levels) {
    top->taken_i = 0;
    top->stop_i = top->base_write_i = top->count_write_i = top->mrsp_valid_i = top->manager_push_i = 0;
    top->mrd_ready_i = 0;
    top->push_ready_i = 1;
    top->full_i = 0;
    top->empty_i = 0x1f;
    reset();
  }

  void write_base(unsigned queue, uint64_t value) { write(queue, value, false); }
  void write_count(unsigned queue, uint64_t value) { write(queue, value, true); }
  void start(unsigned queue, uint64_t base, uint64_t count, std::optional<uint64_t> error = {}, unsigned version = 0) {
    write_base(queue, base | version);
    std::erase(order_[queue], version);
    order_[queue].push_back(version);
    of(queue, version) = {base & ~(kStep - 1), count, 0, 0, error, false};
    starting_ = &of(queue, version);
    write_count(queue, uint64_t{version} << 32 | count);
    starting_ = nullptr;
  }
  Expected& of(unsigned queue, unsigned version) { return version == 0 ? expected[queue] : expected1[queue]; }
  void core_reset() {
    top->rst_ni = 0;
    VerilatedBench::step();
    top->rst_ni = 1;
    flights_.clear();  // memory drops what is outstanding
    expected = expected1 = {};
    levels = {};
    inside_ = order_ = {};
    recent_ = {};
    used_before_ = 0;
    faults.clear();
    settle();
  }

  void cycle_once() {
    top->mrd_ready_i = !weft::bench::chance(random_, levels_.refuse_percent);
    const bool due = !flights_.empty() && flights_.front().cycle <= cycle();
    top->mrsp_valid_i = due && !weft::bench::chance(random_, levels_.late_percent);
    if (top->mrsp_valid_i) {
      const Words words = contents(flights_.front().address);
      std::memcpy(top->mrsp_i.data(), words.data(), kStep);
      top->mrsp_i[words.size()] = flights_.front().error;  // above the data
    }
    top->push_ready_i = !weft::bench::chance(random_, levels_.push_percent);
    top->full_i = top->empty_i = 0;
    for (unsigned q = 0; q < kQueues; q++) {
      top->full_i |= (levels[q] == WEFT_CORE_QUEUE_DEPTH ? 1u : 0u) << q;
      top->empty_i |= (levels[q] == 0 ? 1u : 0u) << q;
    }
    settle();
    look();
    step();
  }
  [[nodiscard]] bool idle() const { return top->active_o == 0 && !top->moving_o; }
  /// Cycles until nothing moves; fails at `limit`.
  uint64_t drain(uint64_t limit = 200000) {
    const uint64_t begin = cycle();
    settle();
    while (!idle()) {
      cycle_once();
      settle();
      REQUIRE(cycle() - begin < limit);
    }
    return cycle() - begin;
  }
  [[nodiscard]] uint64_t flights() const { return flights_.size(); }

  struct Fault {
    unsigned code, unit, queue, tag;
    uint64_t address;
  };
  std::array<Expected, kQueues> expected{}, expected1{};  // of version 0, of version 1
  uint64_t freed = 0;                                     // cycles in which a version was told to be free
  std::array<unsigned, kQueues> levels{};
  std::vector<Fault> faults;
  bool hold_all = false;  // no queue is emptied
  uint64_t most_outstanding = 0;
  uint64_t asked_cycle = 0, answered_cycle = 0, pushed_cycle = 0;  // of the last one

 private:
  struct Flight {
    uint64_t cycle, address;
    unsigned queue, version;
    bool error;
  };

  void write(unsigned queue, uint64_t value, bool count) {
    top->index_i = static_cast<uint8_t>(queue);
    top->wdata_i = value;
    (count ? top->count_write_i : top->base_write_i) = 1;
    cycle_once();
    top->count_write_i = top->base_write_i = 0;
  }

  void look() {
    if (top->mrsp_valid_i) {
      Expected& e = of(flights_.front().queue, flights_.front().version);
      e.dead = e.dead || flights_.front().error;
      flights_.pop_front();
      answered_cycle = cycle();
    }
    if (top->mrd_valid_o && top->mrd_ready_i) take_request(top->mrd_addr_o);
    if (top->mrd_valid_o) asked_cycle = cycle();
    REQUIRE((top->push_o & (top->push_o - 1)) == 0);
    look_at_versions();
    top->taken_i = 0;
    for (unsigned q = 0; q < kQueues; q++) {
      if (top->push_o >> q & 1)
        take_push(q);
      else if (levels[q] != 0 && !hold_all && !weft::bench::chance(random_, levels_.hold_percent))
        take_command(q);
    }
    if (top->fault_o[2] >> 31 != 0) {
      REQUIRE(top->moving_o);  // the edge has to come, stopped or not
      const uint32_t high = top->fault_o[2];
      faults.push_back({high >> 23 & 0xff, high >> 19 & 0xf, high >> 16 & 7, high & 0xffff,
                        top->fault_o[0] | uint64_t{top->fault_o[1]} << 32});
    }
  }
  /// A command leaves the queue.
  void take_command(unsigned q) {
    levels[q]--;
    if (inside_[q].empty()) return;  // the test has filled the queue
    top->taken_i = static_cast<uint16_t>(top->taken_i | 1u << (2 * q + inside_[q].front()));
    inside_[q].erase(inside_[q].begin());
  }
  /// A version is in use while a command of its fetches has not left its queue, and for three cycles more.
  void look_at_versions() {
    unsigned wanted = 0;
    for (unsigned q = 0; q < kQueues; q++)
      for (unsigned v = 0; v < 2; v++)
        if ((of(q, v).active() && &of(q, v) != starting_) || std::ranges::count(inside_[q], v) != 0) wanted |= 1u << v;
    const unsigned used = wanted | recent_[0] | recent_[1] | recent_[2];
    REQUIRE(top->used_o == used);
    REQUIRE(!!top->freed_o == ((used_before_ & ~used) != 0 && used != 0));
    freed += top->freed_o;
    recent_ = {wanted, recent_[0], recent_[1]};
    used_before_ = used;
  }
  void take_request(uint64_t address) {
    for (unsigned q = 0; q < kQueues; q++)
      for (const unsigned v : order_[q]) {
        Expected& e = of(q, v);
        if (e.asked == e.count) continue;
        if (address != e.base + e.asked * kStep) break;  // the fetch that was started first goes first
        flights_.push_back({cycle() + levels_.latency, address, q, v, e.error == e.asked});
        e.asked++;
        const uint64_t outstanding = expected[q].asked - expected[q].pushed + expected1[q].asked - expected1[q].pushed;
        REQUIRE(outstanding <= kDepth + 1);  // one is in the register before the queue
        most_outstanding = std::max(most_outstanding, outstanding);
        return;
      }
    FAIL("a read of " << std::hex << address << ", which is no queue's next command");
  }
  void take_push(unsigned q) {
    unsigned version = 2;
    for (const unsigned v : order_[q])
      if (version == 2 && of(q, v).active()) version = v;
    REQUIRE(version < 2);
    REQUIRE(!!top->version_o == (version == 1));
    inside_[q].push_back(version);
    Expected& e = of(q, version);
    REQUIRE(top->push_ready_i);
    REQUIRE(levels[q] < WEFT_CORE_QUEUE_DEPTH);
    REQUIRE(e.pushed < e.asked);
    REQUIRE((!e.error || e.pushed < *e.error));
    const Words words = as_pushed(q, contents(e.base + e.pushed * kStep), version == 1);
    REQUIRE(std::memcmp(top->cmd_o.data(), words.data(), kStep) == 0);
    e.pushed++;
    levels[q]++;
    pushed_cycle = cycle();
  }

  std::mt19937_64& random_;
  const Levels levels_;
  std::deque<Flight> flights_;
  std::array<std::vector<unsigned>, kQueues> order_;   // versions of a queue's fetches, in the order of their starts
  std::array<std::vector<unsigned>, kQueues> inside_;  // of the commands in the queue, oldest first
  std::array<unsigned, 3> recent_{};
  unsigned used_before_ = 0;
  const Expected* starting_ = nullptr;
};

/// Bases that no two queues share.
inline uint64_t base_of(unsigned queue, uint64_t turn = 0) { return (uint64_t{queue} + 1) << 32 | turn << 24; }

}  // namespace weft::prefetch
