#include "model/ici/event_queue.hpp"

#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <random>

using namespace weft::ici;

namespace {

/// What the queue should do, by a map that keeps the order of adding.
class Reference {
 public:
  void add(Femtoseconds time, uint32_t subject) { events_.emplace(time, subject); }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  std::pair<Femtoseconds, uint32_t> take() {
    const auto first = *events_.begin();
    events_.erase(events_.begin());
    return first;
  }

 private:
  std::multimap<Femtoseconds, uint32_t> events_;
};

}  // namespace

TEST_CASE("events of one time come in the order in which they were added") {
  EventQueue queue;
  for (uint32_t i = 0; i < 1000; i++) queue.add(7, 0, i, 0);
  for (uint32_t i = 0; i < 1000; i++) REQUIRE(queue.take().subject == i);
  CHECK(queue.empty());
}

TEST_CASE("events come in the order of their time, however far apart, added before and while others are taken") {
  const unsigned seed = 11;
  std::cout << "seed " << seed << "\n";
  // steps that stay within a slot of the ring, within the ring, and go beyond it; many of them 0
  for (const Femtoseconds reach : {Femtoseconds{3}, kNanosecond, kMicrosecond, 5 * kMicrosecond, 40 * kMillisecond}) {
    INFO("reach " << reach << " fs");
    std::mt19937_64 random(seed);
    EventQueue queue;
    Reference reference;
    Femtoseconds now = 0;
    uint32_t added = 0;
    const auto add = [&](unsigned count) {
      for (unsigned i = 0; i < count; i++) {
        // now, a step that is mostly the same, or any
        const auto what = random() % 8;
        const auto time = now + (what < 2   ? 0
                                 : what < 5 ? reach - (random() % 16 == 0 ? reach / 2 : 0)
                                            : random() % reach);
        if (what >= 2 && what < 5)
          queue.add_to_stream(time, 1, added, 0);
        else
          queue.add(time, 1, added, 0);
        reference.add(time, added++);
      }
    };
    add(500);
    for (unsigned step = 0; step < 20000 && !reference.empty(); step++) {
      const auto [time, subject] = reference.take();
      REQUIRE(!queue.empty());
      REQUIRE(queue.next_time() == time);
      const auto event = queue.take();
      REQUIRE(event.time == time);
      REQUIRE(event.subject == subject);
      now = time;
      if (step < 15000) add(static_cast<unsigned>(random() % 3));
    }
    while (!reference.empty()) REQUIRE(queue.take().subject == reference.take().second);
    CHECK(queue.empty());
  }
}

TEST_CASE("an event that is added before all others is the next, although the queue has gone ahead to theirs") {
  EventQueue queue;
  queue.add(0, 0, 1, 0);
  queue.add(kMillisecond, 0, 2, 0);
  CHECK(queue.take().subject == 1);
  queue.add(kMicrosecond, 0, 3, 0);
  queue.add(kNanosecond, 0, 4, 0);
  CHECK(queue.take().subject == 4);
  CHECK(queue.take().subject == 3);
  CHECK(queue.take().subject == 2);
  CHECK(queue.empty());
}

TEST_CASE("a stream takes what falls back in time, and events of one time keep their order across sources") {
  EventQueue queue;
  queue.add_to_stream(100, 0, 3, 0);
  queue.add_to_stream(50, 0, 1, 0);
  queue.add(100, 0, 4, 0);
  queue.add_to_stream(100, 0, 5, 0);
  queue.add(0, 0, 0, 0);
  queue.add(60, 0, 2, 0);
  CHECK(queue.next_time() == 0);
  for (uint32_t i = 0; i < 6; i++) CHECK(queue.take().subject == i);
  CHECK(queue.empty());
  CHECK(queue.next_time() == kNever);
}

TEST_CASE("what is added between a far event that was looked at and one that was taken comes before the far one") {
  EventQueue queue;
  queue.add_to_stream(kNanosecond, 0, 0, 0);
  queue.add(40 * kMillisecond, 0, 3, 0);
  CHECK(queue.take().subject == 0);
  CHECK(queue.front(queue.next_source()).time == 40 * kMillisecond);
  queue.add(20 * kMillisecond, 0, 2, 0);
  queue.add_to_stream(10 * kMillisecond, 0, 1, 0);
  for (uint32_t i = 1; i < 4; i++) CHECK(queue.take().subject == i);
  CHECK(queue.empty());
}
