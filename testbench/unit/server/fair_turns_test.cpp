// What tenants pay for the time of their messages.
#include "model/server/fair_turns.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>

#include "testbench/unit/server/client.hpp"

using namespace weft;
using namespace weft::server;
namespace hal = fw::hal;

namespace {

/// From the first doorbell on the device always has something to do.
void work_after_a_doorbell() {
  bool works = false;
  for (;;) {
    hal::wait_for_event(works ? hal::now() + 1000 : UINT64_MAX);
    works |= hal::doorbell_pending(0) != 0;
  }
}

/// Takes the processor from the server's thread for so long, in the next message once it is armed.
struct Nap final : MessageLog {
  static constexpr std::chrono::seconds kTime{2};
  void connected(size_t) override {}
  void left(size_t) override {}
  void message(size_t, const Message&) override {
    if (armed.exchange(false)) ::sleep(kTime.count());
  }
  void answered(int, std::span<const std::byte>) override {}
  void sleeps() override {}
  [[nodiscard]] int wake_ms() const override { return -1; }
  std::atomic<bool> armed = false;
};

}  // namespace

TEST_CASE("a client that is alone owes nobody the time that its message took") {
  test::firmware = work_after_a_doorbell;
  Nap nap;
  test::ServedOptions options;
  options.log = &nap;
  std::string error;
  options.listeners.push_back(Listener::make(test::socket_path(), error));
  test::Served served(std::move(options));
  test::Client client(test::connect_to(test::socket_path()));
  client.negotiate();
  client.post(test::kDoorbellBar, 8, 1);
  REQUIRE(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);  // the device works from now on
  nap.armed = true;
  REQUIRE(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
  CHECK(std::chrono::steady_clock::now() - begin < Nap::kTime / 2);  // a debt would take all of it once more
}

TEST_CASE("a tenant in debt waits while the device has work, and is served at once when nobody else wants the time") {
  constexpr auto kLong = std::chrono::seconds(1);
  FairTurns turns(2);
  auto now = FairTurns::Clock::now();
  const std::array<size_t, 1> first{0};
  turns.begin(first, 2, true, now);
  CHECK(turns.time_for(0) > FairTurns::Time::zero());
  turns.spend(0, kLong);
  turns.begin(first, 2, true, now += std::chrono::milliseconds(1));
  CHECK(turns.time_for(0) == FairTurns::Time::zero());
  turns.begin(first, 2, true, now += 4 * kLong);  // a quarter of the time is its own
  CHECK(turns.time_for(0) > FairTurns::Time::zero());
  turns.spend(0, kLong);
  turns.begin(first, 2, false, now);
  CHECK(turns.time_for(0) > FairTurns::Time::zero());
}
