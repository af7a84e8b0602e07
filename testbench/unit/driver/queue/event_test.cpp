// How an event ends.
#include "driver/queue/event.hpp"

#include <catch2/catch.hpp>

using namespace weft::driver;

TEST_CASE("what a command used is given up before anybody can see that its event is done") {
  Event event(1, 0, WEFT_QUEUE_OPCODE_NOP);
  bool given_up = false, done_by_then = false;
  event.hold({std::shared_ptr<const void>(&event, [&](const void*) {
    given_up = true;
    done_by_then = event.done();
  })});
  CHECK(event.complete({}).empty());
  CHECK(event.done());
  CHECK(given_up);
  CHECK(!done_by_then);
}
