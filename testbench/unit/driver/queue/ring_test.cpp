// Rings at every offset, at every size, and across the wrap of their indices at 2^32.
#include "driver/queue/ring.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace weft::driver;

namespace {

/// The device's side of a completion ring.
struct Producer {
  std::vector<weft_completion_entry>& memory;
  uint32_t tail;
  void put(uint32_t tag) {
    const auto entries = static_cast<uint32_t>(memory.size());
    weft_completion_entry entry{};
    entry.tag = tag;
    entry.status = WEFT_STATUS(ring_phase(tail, entries), 0, 0, 0, 0);
    memory[tail & (entries - 1)] = entry;
    tail++;
  }
};

/// Ring memory as a queue leaves it that has run up to `index`: the lap before has the other phase everywhere.
std::vector<weft_completion_entry> lap_before(uint32_t entries, uint32_t index) {
  std::vector<weft_completion_entry> memory(entries);
  for (uint32_t i = index - entries; i != index; i++) memory[i & (entries - 1)].status = ring_phase(i, entries);
  return memory;
}

}  // namespace

TEST_CASE("ring sizes are powers of two within the limits") {
  CHECK(ring_size_valid(2));
  CHECK(ring_size_valid(4096));
  for (const uint32_t bad : {0u, 1u, 3u, 48u, 4095u, 8192u, 0x80000000u}) CHECK_FALSE(ring_size_valid(bad));
}

TEST_CASE("a submission ring fills to its last entry from every start, and across 2^32") {
  const uint32_t entries = GENERATE(2u, 4u, 64u);
  for (uint32_t start : {0u, 1u, entries - 1, 0xffffffffu, 0xffffffffu - entries / 2, 0x7fffffffu}) {
    CAPTURE(entries, start);
    std::vector<weft_submission_entry> memory(entries);
    SubmissionRing ring(memory.data(), entries, start);
    for (uint32_t i = 0; i < entries; i++) {
      REQUIRE_FALSE(ring.full());
      weft_submission_entry entry{};
      entry.tag = i + 1;
      REQUIRE(ring.push(entry) == static_cast<uint32_t>(start + i + 1));
      REQUIRE(memory[(start + i) & (entries - 1)].tag == i + 1);
      entry.crc32c = memory[(start + i) & (entries - 1)].crc32c;
      REQUIRE(entry.crc32c == submission_seal(entry, (start + i) / entries));
      REQUIRE(entry.crc32c != submission_seal(entry, (start + i) / entries - 1));  // of the lap before
    }
    REQUIRE(ring.full());
    REQUIRE(ring.used() == entries);
    REQUIRE_FALSE(ring.advance_head(start + entries + 1));
    REQUIRE_FALSE(ring.advance_head(start - 1));
    REQUIRE(ring.head() == start);
    REQUIRE(ring.advance_head(start + 1));
    REQUIRE_FALSE(ring.full());
    REQUIRE_FALSE(ring.advance_head(start));  // backwards
    REQUIRE(ring.advance_head(start + entries));
    REQUIRE(ring.used() == 0);
  }
}

TEST_CASE("a completion ring shows exactly what was written, at every offset and over several laps") {
  const uint32_t entries = GENERATE(2u, 8u, 32u);
  for (uint32_t offset = 0; offset < 2 * entries; offset++) {
    for (const uint32_t base : {0u, 0u - 2 * entries, 0u - entries}) {
      const uint32_t start = base + offset;
      CAPTURE(entries, start);
      auto memory = start == 0 ? std::vector<weft_completion_entry>(entries) : lap_before(entries, start);
      CompletionRing ring(memory.data(), entries, start);
      Producer device{memory, start};
      uint32_t tag = 0;
      for (uint32_t burst = 1; burst <= entries; burst++) {
        REQUIRE_FALSE(ring.peek());
        for (uint32_t i = 0; i < burst; i++) device.put(tag + i);
        for (uint32_t i = 0; i < burst; i++) {
          const auto entry = ring.peek();
          REQUIRE(entry);
          REQUIRE(entry->tag == tag++);
          ring.pop();
        }
      }
      REQUIRE_FALSE(ring.peek());
      REQUIRE(ring.head() == device.tail);
    }
  }
}

TEST_CASE("a completion of the wrong phase is not seen") {
  std::vector<weft_completion_entry> memory(4);
  const CompletionRing ring(memory.data(), 4);
  memory[0].status = WEFT_STATUS(0, 0, 0, 0, 0);
  CHECK_FALSE(ring.peek());
  memory[0].status = WEFT_STATUS(1, 0, 0, 0, 0);
  CHECK(ring.peek());
}

TEST_CASE("acknowledging counts from the last time") {
  std::vector<weft_completion_entry> memory(4);
  CompletionRing ring(memory.data(), 4, 0xffffffffu);
  ring.pop();
  ring.pop();
  CHECK(ring.unacknowledged() == 2);
  ring.acknowledge();
  CHECK(ring.unacknowledged() == 0);
}
