// One function's clients, one after the other, at moments that sockets alone do not hit at will.
#include "model/server/function_port.hpp"

#include "testbench/unit/server/client.hpp"

using namespace weft;
using namespace weft::server;

TEST_CASE("a client that is accepted while the one before has left unseen is served next") {
  std::string error;
  const auto simulation = chip::Simulation::make(test::chip_options(), error);
  REQUIRE(simulation != nullptr);
  const std::string path = test::socket_path();
  FunctionPort port(*simulation, 0);
  port.listen(Listener::make(path, error));
  const auto turns = [&] {
    for (int i = 0; i < 4; i++) {
      CHECK(port.serve());
      while (simulation->pending()) simulation->run_slice();
    }
  };
  const auto version = test::bytes_of(vfio_user::Version{0, 1});

  test::Client first(test::connect_to(path));
  REQUIRE(first.send(1, version));
  turns();
  CHECK(first.receive()->error() == 0);
  auto [ours, theirs] = test::socket_pair();
  test::Client second(std::move(theirs));
  REQUIRE(second.send(1, version));
  first.close();
  port.take(std::move(ours));  // between the port's look at the first one and its next message
  turns();
  const auto answer = second.receive();
  REQUIRE(answer);
  CHECK(answer->error() == 0);

  test::Client third(test::connect_to(path));
  REQUIRE(third.send(1, version));
  turns();
  CHECK(third.receive()->error() == EBUSY);  // the second one is there
}

TEST_CASE("a port rests on its client's socket until the device may need that by itself") {
  std::string error;
  const auto simulation = chip::Simulation::make(test::chip_options(), error);
  REQUIRE(simulation != nullptr);
  FunctionPort port(*simulation, 0);
  CHECK(port.rests_on() == -1);
  auto [ours, theirs] = test::socket_pair();
  const int fd = ours.get();
  test::Client client(std::move(theirs));
  port.attach(std::move(ours));
  CHECK(port.rests_on() == fd);
  port.wake();
  CHECK_FALSE(port.quiet());
  REQUIRE(client.send(1, test::bytes_of(vfio_user::Version{0, 1})));
  CHECK(port.serve());
  CHECK(client.receive()->error() == 0);
  CHECK(port.rests_on() == fd);
  port.rest();
  CHECK(port.quiet());

  const vfio_user::DmaMap map{sizeof(vfio_user::DmaMap), vfio_user::kDmaReadable | vfio_user::kDmaWritable, 0, 1 << 20,
                              4096};
  REQUIRE(client.send(2, test::bytes_of(map)));  // no descriptor: the device reads it by messages
  CHECK(port.serve());
  CHECK(client.receive()->error() == 0);
  CHECK(port.rests_on() == -1);
  client.close();
  CHECK_FALSE(port.serve());
  CHECK(port.rests_on() == -1);
}

namespace {

/// A port with a client, and no loop: time goes on when the test says so.
struct Attached {
  Attached() {
    REQUIRE(simulation != nullptr);
    auto [ours, theirs] = test::socket_pair();
    client.emplace(std::move(theirs));
    port.attach(std::move(ours));
    REQUIRE(client->send(1, test::bytes_of(vfio_user::Version{0, 1})));
    CHECK(answered() == 0);
  }
  bool post(uint32_t region, uint64_t offset, uint32_t value) {
    return client->send(static_cast<uint16_t>(vfio_user::Command::kRegionWrite),
                        client->write_body(region, offset, value, 4));
  }
  /// Serves the port once. Returns the errno of the reply, or -1 if the client has got none.
  int answered() {
    CHECK(port.serve());
    pollfd p{client->fd(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1 ? client->receive()->error() : -1;
  }

  std::string error;
  std::unique_ptr<chip::Simulation> simulation = chip::Simulation::make(test::chip_options(), error);
  FunctionPort port{*simulation, 0};
  std::optional<test::Client> client;
};

}  // namespace

TEST_CASE_METHOD(Attached, "a write that holds time waits for what an earlier one has begun") {
  REQUIRE(post(test::kRegisterBar, WEFT_REG_SIM_HOLD, 1));
  CHECK(answered() == 0);  // nothing is pending
  CHECK(simulation->held());
  REQUIRE(post(test::kDoorbellBar, 0, 1));
  CHECK(answered() == 0);
  REQUIRE(post(test::kRegisterBar, WEFT_REG_SIM_HOLD, 1));  // it is held already
  CHECK(answered() == 0);
  REQUIRE(post(test::kRegisterBar, WEFT_REG_SIM_HOLD, 0));
  CHECK(answered() == 0);

  REQUIRE(simulation->pending());
  REQUIRE(post(test::kRegisterBar, WEFT_REG_SIM_HOLD, 1));
  REQUIRE(post(test::kDoorbellBar, 0, 2));
  CHECK(answered() == -1);
  CHECK(port.asks_to_hold());
  CHECK(port.look({}));
  CHECK_FALSE(port.quiet());
  CHECK(port.rests_on() == -1);
  CHECK(port.due() <= FunctionPort::Clock::now());
  CHECK_FALSE(simulation->held());
  CHECK(simulation->function().submission_tail(0) == 1);  // the message behind it waits as well
  simulation->run_until_idle();
  CHECK(answered() == 0);
  CHECK(client->receive()->error() == 0);
  CHECK_FALSE(port.asks_to_hold());
  CHECK(simulation->held());
  CHECK(simulation->function().submission_tail(0) == 2);
}

TEST_CASE_METHOD(Attached, "a write that holds time does not wait for ever, and neither does a client that has left") {
  for (const auto& [offset, value] :
       {std::pair<uint64_t, uint32_t>(WEFT_REG_INJECT_KIND, WEFT_INJECTED_FAULT_FIRMWARE_DEAF),
        {WEFT_REG_INJECT_NTH, 1},
        {WEFT_REG_INJECT_COUNT, 1},
        {WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_ARM}}) {
    REQUIRE(post(test::kRegisterBar, offset, value));
    CHECK(answered() == 0);
  }
  REQUIRE(post(test::kDoorbellBar, 0, 1));  // deaf firmware wakes again and again
  CHECK(answered() == 0);
  simulation->run_slice();
  const uint64_t asked = simulation->cycle();
  REQUIRE(post(test::kRegisterBar, WEFT_REG_SIM_HOLD, 1));
  while (answered() != 0) {
    REQUIRE(simulation->pending());
    CHECK(simulation->cycle() < asked + WEFT_LIMIT_HOLD_DELAY_CYCLES);
    simulation->run_for(1);
  }
  CHECK(simulation->held());
  CHECK(simulation->cycle() >= asked + WEFT_LIMIT_HOLD_DELAY_CYCLES);
  CHECK(simulation->cycle() < asked + 2 * WEFT_LIMIT_HOLD_DELAY_CYCLES);

  REQUIRE(post(test::kRegisterBar, WEFT_REG_SIM_HOLD, 0));
  CHECK(answered() == 0);
  REQUIRE(post(test::kRegisterBar, WEFT_REG_SIM_HOLD, 1));
  CHECK(answered() == -1);
  client->close();
  bool there = port.serve();
  for (int i = 0; i < 100 && there; i++) {
    simulation->run_for(WEFT_LIMIT_HOLD_DELAY_CYCLES);
    there = port.serve();
  }
  CHECK_FALSE(there);
}
