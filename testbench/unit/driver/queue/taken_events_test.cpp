// Who waits for the threads that have events in hand, and for which of them.
#include "driver/queue/taken_events.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <thread>

using namespace weft::driver;

namespace {

void pause_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

}  // namespace

TEST_CASE("who waits for the holds so far waits for each of them, and for none that begins later") {
  TakenEvents taken;
  auto first = std::make_unique<TakenEvents::Hold>(taken), second = std::make_unique<TakenEvents::Hold>(taken);
  std::atomic<bool> returned{false};
  std::thread waiter([&] {
    taken.await_earlier();
    returned = true;
  });
  pause_briefly();
  const TakenEvents::Hold later(taken);
  first.reset();
  pause_briefly();
  CHECK(!returned);
  second.reset();
  waiter.join();  // although the later one goes on
  CHECK(returned);
}

TEST_CASE("who waits until nothing is held waits for later holds too") {
  TakenEvents taken;
  taken.await_none();
  taken.await_earlier();
  auto first = std::make_unique<TakenEvents::Hold>(taken);
  std::atomic<bool> returned{false};
  std::thread waiter([&] {
    taken.await_none();
    returned = true;
  });
  pause_briefly();
  auto later = std::make_unique<TakenEvents::Hold>(taken);
  first.reset();
  pause_briefly();
  CHECK(!returned);
  later.reset();
  waiter.join();
  CHECK(returned);
}
