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
