#include "model/ici/arrival_times.hpp"

#include <catch2/catch.hpp>

#include "model/ici/network.hpp"
#include "model/ici/slice.hpp"

using namespace weft::ici;

TEST_CASE("what arrives first is told first, whenever it was noted, and is forgotten once it is past") {
  ArrivalTimes times(2);
  CHECK(times.next(0, 0) == kNever);
  times.note(0, 30, 0);
  times.note(0, 10, 0);
  times.note(1, 20, 0);
  CHECK(times.next(0, 0) == 10);
  CHECK(times.next(1, 0) == 20);
  CHECK(times.next(0, 10) == 30);
  times.note(0, 40, 30);
  CHECK(times.next(0, 30) == 40);
  CHECK(times.next(0, 40) == kNever);
}

TEST_CASE("a network tells each arrival a hop's time ahead, to the femtosecond") {
  const auto slice = std::get<Slice>(parse_slice("v4-4x4x4"));
  Network network(slice.topology(), {.link_bytes_per_second = slice.generation->link_bytes_per_second});
  ArrivalTimes times(slice.chips());
  network.note_arrivals(&times);
  unsigned arrived = 0;
  network.on_delivery([&](const Message& message, Delivery how, Femtoseconds at) {
    REQUIRE(how == Delivery::kDone);
    REQUIRE(times.next(message.to, at - 1) == at);
    arrived++;
  });
  for (uint32_t from = 0; from < slice.chips(); from++)
    for (uint32_t to = 0; to < slice.chips(); to++) {
      Message message;
      message.from = from, message.to = to;
      message.bytes = 1 + (from * 61 + to * 17) % 4096;
      if (from != to) network.send(message, from * 100 * kNanosecond);
    }
  network.run_until(kNever);
  CHECK(arrived == 64 * 63);
  CHECK_FALSE(network.troubled());
}
