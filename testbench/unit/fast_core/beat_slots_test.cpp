// Slots of beats: no two that are out share a byte, and short ones lie close together.
#include "model/core/fast/beat_slots.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

using weft::core::fast::BeatSlots;

TEST_CASE("a slot keeps its bytes until it is given back, whatever the others hold") {
  constexpr size_t kBeats = 33;
  constexpr uint32_t kBytes = 4096;
  BeatSlots slots(kBeats, kBytes);
  struct Beat {
    size_t slot;
    uint32_t bytes;
    int value;
  };
  std::vector<Beat> out;
  std::mt19937_64 random(1);
  for (int round = 0; round < 50000; round++) {
    if (out.size() < kBeats && random() % 2 == 0) {
      const uint32_t bytes = 1 + static_cast<uint32_t>(random() % (random() % 3 == 0 ? kBytes : 200));
      const Beat beat{slots.take(bytes), bytes, static_cast<int>(random() % 256)};
      std::memset(slots.data(beat.slot), beat.value, beat.bytes);
      out.push_back(beat);
    } else if (!out.empty()) {
      const size_t which = random() % out.size();
      const Beat beat = out[which];
      const std::vector<std::byte> expected(beat.bytes, static_cast<std::byte>(beat.value));
      REQUIRE(std::memcmp(slots.data(beat.slot), expected.data(), beat.bytes) == 0);
      slots.give_back(beat.slot);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (round % 10000 == 9999) {
      slots.clear();
      out.clear();
    }
  }
}

TEST_CASE("what many slots have touched is let go when none is out, and few keep theirs") {
  BeatSlots slots(64, 4096);
  std::vector<size_t> out;
  for (int i = 0; i < 40; i++) out.push_back(slots.take(4096));
  const size_t small = slots.take(64);
  CHECK(slots.touched() == 40 * 4096 + 64);
  for (const size_t slot : out) slots.give_back(slot);
  slots.give_back(small);
  slots.let_go();
  CHECK(slots.touched() == 64);
  const size_t again = slots.take(4096);
  std::memset(slots.data(again), 1, 4096);
  CHECK(slots.touched() == 4096 + 64);
}

TEST_CASE("slots of short beats lie side by side, and one that is given back is the next") {
  BeatSlots slots(8, 4096);
  const size_t first = slots.take(172), second = slots.take(200), large = slots.take(4096);
  CHECK(slots.data(second) - slots.data(first) == 256);
  CHECK(slots.take(4096) != large);
  slots.give_back(first);
  CHECK(slots.take(129) == first);
}
