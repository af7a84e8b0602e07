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
