// Eventfds that are signalled without a wait.
#include "model/server/event_signal.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <catch2/catch.hpp>
#include <cstdint>

using namespace weft::server;

namespace {

uint64_t count_of(const FileDescriptor& event) {
  pollfd p{event.get(), POLLIN, 0};
  uint64_t count = 0;
  if (::poll(&p, 1, 0) == 1) (void)!::read(event.get(), &count, sizeof count);
  return count;
}

}  // namespace

TEST_CASE("each signal adds one, and a full counter stays full") {
  std::string error;
  const auto signal = EventSignal::make(error);
  INFO(error);
  REQUIRE(signal != nullptr);
  for (const int flags : std::initializer_list<int>{0, EFD_NONBLOCK, EFD_SEMAPHORE}) {
    const FileDescriptor event(::eventfd(0, EFD_CLOEXEC | flags));
    for (int i = 0; i < 1000; i++) REQUIRE(signal->send(event.get()));
    if (flags != EFD_SEMAPHORE) CHECK(count_of(event) == 1000);
  }
  const FileDescriptor event(::eventfd(0, EFD_CLOEXEC));
  const uint64_t full = UINT64_MAX - 1;
  REQUIRE(::write(event.get(), &full, sizeof full) == sizeof full);
  for (int i = 0; i < 200; i++) CHECK(signal->send(event.get()));
  CHECK(count_of(event) >= full);
  CHECK(signal->send(event.get()));
  CHECK(count_of(event) == 1);
}

TEST_CASE("what is no eventfd is not signalled") {
  std::string error;
  const auto signal = EventSignal::make(error);
  REQUIRE(signal != nullptr);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const FileDescriptor in(ends[0]), out(ends[1]), event(::eventfd(0, EFD_CLOEXEC));
  for (int i = 0; i < 200; i++) {
    CHECK_FALSE(signal->send(out.get()));
    CHECK_FALSE(signal->send(-1));
  }
  CHECK(signal->send(event.get()));
  CHECK(count_of(event) == 1);
}
