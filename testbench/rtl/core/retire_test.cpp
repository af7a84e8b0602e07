// retire.sv: every command that is done posts once, in its unit's order, one a cycle; an overflow posts nothing.
#include <Vretire_model.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>

#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

constexpr unsigned kUnits = WEFT_UNIT_MXU1;  // of a chip with one MXU

/// control_pkg::post_t as Verilator lays it out, and fault_t's fields in its words (lowest field first).
uint64_t post_bits(uint16_t tag, uint8_t sem) { return uint64_t{tag} << 48 | uint64_t{1} << 16 | 0xff00u | sem; }

struct FaultBits {
  uint64_t address;
  uint16_t tag;
  unsigned queue, unit, code;
  bool valid;
};
FaultBits fault_bits(const WData* words) {
  const uint64_t high = words[2];
  return {words[0] | uint64_t{words[1]} << 32,      static_cast<uint16_t>(high),
          static_cast<unsigned>(high >> 16 & 7),    static_cast<unsigned>(high >> 19 & 15),
          static_cast<unsigned>(high >> 23 & 0xff), (high >> 31 & 1) != 0};
}

}  // namespace

TEST_CASE("commands retire in the order of their unit, one a cycle, and no unit starves") {
  const uint64_t seed = weft::bench::stimulus_seed(1);
  INFO("seed " << seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto context = weft::bench::make_context();
  Vretire_model top(context.get());
  weft::bench::Waves<Vretire_model> waves(*context, top);
  top.start_i = top.done_i = top.not_done_i = top.lost_done_i = 0;
  top.post_overflow_i = 0;
  top.rst_ni = 0;
  top.clk_i = 0;
  top.eval();
  top.clk_i = 1;
  top.eval();
  top.rst_ni = 1;
  std::array<std::deque<uint16_t>, kUnits> running, done;
  std::array<unsigned, kUnits> passed_over{};
  uint16_t next_tag = 0;
  unsigned retired = 0, full = 0, overflows = 0;
  for (unsigned cycle = 0; cycle < 40000; cycle++) {
    top.clk_i = 0;
    top.post_overflow_i = 0;
    top.start_i = 0;
    top.done_i = 0;
    top.eval();
    unsigned start = 0, finish = 0;
    for (unsigned u = 0; u < kUnits; u++) {
      const size_t depth = u < WEFT_CORE_DMA_CHANNELS ? 8 : 4;
      REQUIRE((top.full_o >> u & 1) == (running[u].size() + done[u].size() == depth));
      REQUIRE((top.held_o >> u & 1) == (running[u].size() + done[u].size() != 0));
      full += top.full_o >> u & 1;
      if ((top.full_o >> u & 1) == 0 && random() % 4 == 0) start |= 1u << u;
      if (!running[u].empty() && random() % 4 == 0) finish |= 1u << u;
      top.post_i[u] = post_bits(next_tag, static_cast<uint8_t>(u));
      if ((start >> u & 1) != 0) running[u].push_back(next_tag++);
    }
    top.start_i = static_cast<uint8_t>(start);
    top.done_i = static_cast<uint8_t>(finish);
    top.eval();
    unsigned pending = 0;
    for (unsigned u = 0; u < kUnits; u++) pending += !done[u].empty();
    REQUIRE((top.post_valid_o != 0) == (pending != 0));
    if (top.post_valid_o) {
      const uint8_t unit = static_cast<uint8_t>(top.post_o);
      const bool overflow = random() % 8 == 0;
      top.post_overflow_i = overflow;
      top.post_overflow_sem_i = unit;
      top.eval();
      REQUIRE(unit < kUnits);
      REQUIRE(!done[unit].empty());
      REQUIRE(top.post_o >> 48 == done[unit].front());
      REQUIRE(top.retire_o == (overflow ? 0u : 1u << unit));
      const FaultBits fault = fault_bits(top.fault_o.data());
      REQUIRE(fault.valid == overflow);
      if (overflow) {
        REQUIRE(fault.code == WEFT_FAULT_SEMAPHORE_OVERFLOW);
        REQUIRE(fault.unit == unit);
        REQUIRE(fault.tag == done[unit].front());
        REQUIRE(fault.address == unit);
        overflows++;
      }
      done[unit].pop_front();
      retired++;
      for (unsigned u = 0; u < kUnits; u++) {
        passed_over[u] = u != unit && !done[u].empty() ? passed_over[u] + 1 : 0;
        REQUIRE(passed_over[u] < kUnits);
      }
    }
    for (unsigned u = 0; u < kUnits; u++) {
      if ((finish >> u & 1) == 0) continue;
      done[u].push_back(running[u].front());
      running[u].pop_front();
    }
    waves.before_edge(cycle);
    top.clk_i = 1;
    top.eval();
    waves.after_edge(cycle);
  }
  CHECK(retired > 10000);
  CHECK(full > 100);
  CHECK(overflows > 100);
}
