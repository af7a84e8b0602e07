// Commands whose pieces arrive in any order, from several senders.
#include "model/chip/slice_flows.hpp"

#include <catch2/catch.hpp>

using namespace weft;

namespace {

chip::DataParcel piece(uint32_t from, uint32_t serial, uint32_t pieces, uint64_t number) {
  chip::DataParcel data{.from = from,
                        .to = 7,
                        .sender_epoch = 0,
                        .receiver_epoch = 0,
                        .serial = serial,
                        .pieces = pieces,
                        .number = 0,
                        .piece = {}};
  data.piece.number = number;
  return data;
}

}  // namespace

TEST_CASE("A command ends with its last piece, whichever that is, when all its data are visible") {
  chip::SliceFlows flows;
  flows.arrive(piece(1, 0, 3, 50), 900, std::nullopt);  // the last one of three
  CHECK_FALSE(flows.finish(1, 7));
  flows.arrive(piece(1, 0, 0, 50), 1000, std::nullopt);
  CHECK_FALSE(flows.finish(1, 7));
  flows.arrive(piece(1, 0, 0, 50), 800, std::nullopt);
  const auto finished = flows.finish(1, 7);
  REQUIRE(finished);
  CHECK(finished->number == 50);
  CHECK(finished->visible == 1000);
  CHECK_FALSE(finished->fault);
  CHECK_FALSE(flows.finish(1, 7));
}

TEST_CASE("A command waits for those that its sender took before, also for one of which nothing has arrived") {
  chip::SliceFlows flows;
  flows.arrive(piece(1, 1, 1, 60), 500, std::nullopt);
  flows.arrive(piece(2, 0, 1, 10), 500, std::nullopt);
  CHECK_FALSE(flows.finish(1, 7));
  REQUIRE(flows.finish(2, 7));  // another sender's
  flows.arrive(piece(1, 0, 1, 50), 700, std::nullopt);
  CHECK(flows.finish(1, 7)->number == 50);
  const auto second = flows.finish(1, 7);
  REQUIRE(second);
  CHECK(second->number == 60);
  CHECK(second->visible == 700);  // not before the first one's
}

TEST_CASE("A command fails with the first fault of its pieces, once all of them have arrived") {
  chip::SliceFlows flows;
  flows.arrive(piece(1, 0, 0, 50), 0, golden::Fault{WEFT_FAULT_ICI, 1});
  CHECK_FALSE(flows.finish(1, 7));
  flows.arrive(piece(1, 0, 2, 50), 0, golden::Fault{WEFT_FAULT_ICI, 2});
  const auto finished = flows.finish(1, 7);
  REQUIRE(finished);
  REQUIRE(finished->fault);
  CHECK(finished->fault->address == 1);
}

TEST_CASE("What a sender had on its way before its reset is forgotten, and it counts from the beginning") {
  chip::SliceFlows flows;
  flows.arrive(piece(1, 5, 2, 50), 0, std::nullopt);
  flows.forget_sender(1);
  flows.arrive(piece(1, 0, 1, 51), 0, std::nullopt);
  const auto finished = flows.finish(1, 7);
  REQUIRE(finished);
  CHECK(finished->number == 51);
}
