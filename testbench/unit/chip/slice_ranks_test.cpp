// Two halves of a slice that exchange by hand, beside the whole of it.
#include <array>
#include <catch2/catch.hpp>
#include <memory>

#include "model/chip/slice_network.hpp"

using namespace weft;

namespace {

constexpr uint64_t kBytes = 4096;

ici::Slice nano() { return std::get<ici::Slice>(ici::parse_slice("nano-2x2")); }

std::unique_ptr<chip::SliceNetwork> network(chip::RankShare share) {
  return std::make_unique<chip::SliceNetwork>(
      nano(), *spec::find_chip("nano"),
      ici::NetworkOptions{.link_bytes_per_second = nano().generation->link_bytes_per_second}, share);
}

spec::DmaCommand copy_to(uint16_t chip) {
  spec::DmaCommand command;
  command.header.opcode = WEFT_OPCODE_COPY;
  command.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  command.header.post_sem1 = WEFT_NO_SEMAPHORE;
  command.remote_chip = chip;
  command.size0 = kBytes;
  return command;
}

void send(chip::SliceNetwork& network, uint32_t from, uint16_t to, uint64_t cycle) {
  const auto command = copy_to(to);
  core::RemotePiece piece{
      .number = network.port(from).begin(command), .command = command, .runs = {{0, kBytes}}, .bytes = kBytes};
  piece.data.resize(kBytes);
  piece.last = true;
  network.port(from).send(piece, cycle);
}

/// Chips 0 and 1, and chips 2 and 3.
struct Halves {
  std::array<std::unique_ptr<chip::SliceNetwork>, 2> rank{network({0, 2}), network({1, 2})};

  /// Bytes that each has packed for the other one.
  std::array<size_t, 2> exchange(uint64_t end_fs) {
    std::array<std::vector<std::byte>, 2> packed;
    for (unsigned r = 0; r < 2; r++) rank[r]->pack(1 - r, packed[r]);
    for (unsigned r = 0; r < 2; r++) rank[r]->unpack(packed[1 - r]);
    for (unsigned r = 0; r < 2; r++) next[r] = rank[r]->exchanged(end_fs);
    return {packed[0].size(), packed[1].size()};
  }
  std::array<uint64_t, 2> next{};
};

}  // namespace

TEST_CASE("A rank has as many chips as any other, or one more, and each chip is one rank's") {
  for (const uint32_t chips : {4u, 16u, 17u})
    for (unsigned ranks = 1; ranks <= chips; ranks++) {
      uint32_t next = 0;
      for (unsigned rank = 0; rank < ranks; rank++) {
        const chip::RankShare share{rank, ranks};
        CHECK(share.first(chips) == next);
        next = share.end(chips);
        CHECK((next - share.first(chips) == chips / ranks || next - share.first(chips) == chips / ranks + 1));
      }
      CHECK(next == chips);
    }
}

TEST_CASE("What arrives in the next window is known when its beginning is, to the femtosecond") {
  const chip::TimeBase time(spec::find_chip("nano")->clock_hz);
  const auto whole = network({});
  Halves halves;
  for (auto* network : {whole.get(), halves.rank[0].get()}) {
    send(*network, 0, 2, 100);
    send(*network, 0, 2, 150);
  }
  // the whole network is run moment by moment until both have set out
  while (whole->next_event_fs() < time.edge_fs(2500)) whole->run(whole->next_event_fs());
  const uint64_t sent = time.edge_fs(101), end = time.edge_fs(101) + whole->lookahead_fs();
  const uint64_t arrival = whole->next_arrival_fs(2, sent);
  CHECK(halves.rank[1]->next_event_fs() == UINT64_MAX);
  CHECK(halves.rank[0]->first_packed_fs() == sent);
  const auto bytes = halves.exchange(end);
  CHECK(bytes[0] > 2 * kBytes);
  CHECK(bytes[1] < kBytes);
  CHECK(halves.next[0] == halves.next[1]);
  // it arrives at chip 2, which is the first one of rank 1, and there alone
  CHECK(halves.rank[1]->next_event_fs() == arrival);
  CHECK(halves.rank[1]->next_arrival_fs(0, sent) == arrival);
  CHECK(halves.rank[0]->next_event_fs() == UINT64_MAX);
}

TEST_CASE("Data go to their receiver's rank, the message to all") {
  Halves halves;
  send(*halves.rank[0], 0, 1, 100);  // between chips of one rank
  const auto bytes = halves.exchange(10 * halves.rank[0]->lookahead_fs());
  CHECK(bytes[0] > 0);
  CHECK(bytes[0] < kBytes);
  CHECK(halves.rank[1]->network().packet_hops() == 1);
  CHECK(halves.rank[1]->next_event_fs() == UINT64_MAX);
  CHECK(halves.rank[0]->next_event_fs() != UINT64_MAX);
}

TEST_CASE("Once a fault of a link is armed nothing is foreseen, and what had been is left to the network") {
  Halves halves;
  const uint64_t hop = halves.rank[0]->lookahead_fs();
  send(*halves.rank[0], 0, 2, 100);
  halves.exchange(hop);
  REQUIRE(halves.rank[1]->next_event_fs() != UINT64_MAX);
  chip::InjectedFault fault;
  fault.kind = WEFT_INJECTED_FAULT_DOORBELL_LOST;
  halves.rank[0]->note_fault(0, 0, &fault);
  halves.exchange(hop);
  CHECK(halves.rank[1]->next_event_fs() != UINT64_MAX);  // of no link
  fault.kind = WEFT_INJECTED_FAULT_LINK_DOWN;
  fault.target = 2;
  halves.rank[0]->note_fault(0, 0, &fault);
  halves.exchange(hop);
  CHECK(halves.rank[1]->next_event_fs() == UINT64_MAX);
  // window by window to its arrival, which both ranks come to at the same moment
  for (unsigned windows = 0; halves.rank[1]->next_event_fs() == UINT64_MAX && windows < 100; windows++) {
    const uint64_t begin = halves.next[0];
    REQUIRE(begin == halves.next[1]);
    const uint64_t end = halves.rank[0]->begin_window(begin);
    REQUIRE(end == halves.rank[1]->begin_window(begin));
    CHECK(end > begin);
    halves.exchange(end);
  }
  CHECK(halves.rank[1]->next_event_fs() != UINT64_MAX);
}
