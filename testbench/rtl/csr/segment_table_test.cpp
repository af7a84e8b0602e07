// segment_table.sv: every entry and field, the look-ups beside them, entry 0, power-up.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <random>

#include "Vsegment_table_model.h"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/spec.h"

namespace {

using namespace weft::bench;

struct Entry {
  uint64_t base = 0, limit = 0;
  unsigned attributes = 0;  // writable, readable, space
  bool operator==(const Entry&) const = default;
};

/// Entry `index` of an array of segment_t of 132 bits, the lowest field first.
Entry unpack(const void* words, unsigned index) {
  std::array<uint8_t, 96> bytes{};
  std::memcpy(bytes.data(), words, index == 0 ? 20 : 68);
  const auto bits = [&](unsigned from, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
      value |= static_cast<uint64_t>(bytes[(from + i) / 8] >> ((from + i) % 8) & 1) << i;
    return value;
  };
  return {bits(132 * index, 64), bits(132 * index + 64, 64), static_cast<unsigned>(bits(132 * index + 128, 4))};
}

class TableBench : public VerilatedBench<Vsegment_table_model> {
 public:
  TableBench() {
    top->csr_write_i = 0;
    reset();
  }
  void write(unsigned index, unsigned field, uint64_t value) {
    top->csr_write_i = 1;
    top->csr_index_i = static_cast<uint8_t>(index), top->csr_field_i = static_cast<uint8_t>(field);
    top->csr_wdata_i = value;
    step();
    top->csr_write_i = 0;
  }
  /// Through the registers' port, and through look-up port `channel`.
  Entry read(unsigned index) {
    top->csr_index_i = static_cast<uint8_t>(index);
    settle();
    return unpack(top->csr_segment_o.data(), 0);
  }
  /// Entries from 32 on: version 1.
  Entry look_up(unsigned channel, unsigned index) {
    top->seg_index_i = (top->seg_index_i & ~(63u << (6 * channel))) | index << (6 * channel);
    settle();
    return unpack(top->segment_o.data(), channel);
  }
};

const Entry kVmem{0, weft::spec::find_chip("nano")->vmem_bytes, 0xc | WEFT_ADDRESS_SPACE_VMEM};

}  // namespace

TEST_CASE("after power-up entry 0 is VMEM and all others are not mapped, on every port") {
  TableBench bench;
  for (unsigned index = 0; index < WEFT_SEGMENTS; index++) {
    INFO("segment " << index);
    CHECK(bench.read(index) == (index == 0 ? kVmem : Entry{}));
    for (unsigned channel = 0; channel < WEFT_CORE_DMA_CHANNELS; channel++) {
      CHECK(bench.look_up(channel, index) == (index == 0 ? kVmem : Entry{}));
      CHECK(bench.look_up(channel, index + WEFT_SEGMENTS) == Entry{});
    }
  }
}

TEST_CASE("each field of each entry keeps what was written, alone, and all ports see it in the next cycle") {
  const uint64_t seed = stimulus_seed(2);
  std::mt19937_64 random(seed);
  TableBench bench;
  std::array<Entry, 2 * WEFT_SEGMENTS> model{};  // version 0, version 1
  model[0] = kVmem;
  for (unsigned i = 0; i < 4000; i++) {
    const auto index = static_cast<unsigned>(random() % WEFT_SEGMENTS), field = static_cast<unsigned>(random() % 4);
    const uint64_t value = random();
    bench.write(index, field, value);
    for (unsigned version = 0; version < 2 && index != 0; version++) {
      Entry& entry = model[index + version * WEFT_SEGMENTS];
      if (field == 0 && (value >> version & 1) == 0) entry.base = value & ~uint64_t{15};  // bit v: not for version v
      if (field == 1) entry.limit = value;
      if (field == 2) entry.attributes = static_cast<unsigned>(value & 15);
    }
    INFO("write " << i << " segment " << index << " field " << field << "; " << rerun_line(seed, bench.cycle()));
    REQUIRE(bench.read(index) == model[index]);
    for (unsigned channel = 0; channel < WEFT_CORE_DMA_CHANNELS; channel++) {
      const auto other = static_cast<unsigned>(random() % (2 * WEFT_SEGMENTS));
      REQUIRE(bench.look_up(channel, other) == model[other]);
    }
  }
}

TEST_CASE("power-up unmaps what was written, field by field") {
  TableBench bench;
  for (unsigned index = 1; index < WEFT_SEGMENTS; index++)
    for (unsigned field = 0; field < 3; field++) bench.write(index, field, UINT64_MAX - (field == 0 ? 15 : 0));
  bench.reset();
  for (unsigned index = 1; index < WEFT_SEGMENTS; index++) {
    CHECK(bench.read(index) == Entry{});
    bench.write(index, index % 3, index % 3 == 0 ? 16 : 7);
    const Entry want = index % 3 == 0 ? Entry{.base = 16} : index % 3 == 1 ? Entry{.limit = 7} : Entry{.attributes = 7};
    CHECK(bench.read(index) == want);
  }
}
