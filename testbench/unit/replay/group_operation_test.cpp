#include "model/replay/group_operation.hpp"

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <numeric>

#include "testbench/unit/replay/jobs.hpp"

using namespace weft::replay;
using weft::chakra::CollectiveType;
using weft::ici::Message;
using weft::replay::test::slice_of;

namespace {

constexpr weft::ici::LinkRate kRate{45e9};

/// Payload that each chip has sent and received, if each message arrives when all before it have.
struct Traffic {
  std::map<uint32_t, uint64_t> sent, received;
  bool finished = false, early = false;
};

Traffic run(const char* slice, const std::vector<uint32_t>& chips, const GroupWork& work) {
  const auto topology = slice_of(slice).topology();
  std::deque<Message> way;
  Traffic traffic;
  const auto operation = make_group_operation(topology, kRate, shape_of(topology, chips), work,
                                              [&](const Message& message) { way.push_back(message); });
  operation->start();
  while (!way.empty()) {
    const auto message = way.front();
    way.pop_front();
    traffic.early = traffic.early || operation->finished();
    traffic.sent[message.from] += message.bytes;
    traffic.received[message.to] += message.bytes;
    operation->delivered(message);
  }
  traffic.finished = operation->finished();
  return traffic;
}

}  // namespace

TEST_CASE("every collective moves the bytes that it has to, between its own chips only") {
  constexpr uint64_t kBytes = 12'000;
  const std::vector<uint32_t> block{5, 6, 9, 10}, line{4, 5, 6, 7}, scattered{0, 7, 13};
  for (const auto& chips : {block, line, scattered}) {
    const auto ranks = chips.size();
    const auto all = [&](CollectiveType type, uint32_t root = 0) {
      auto traffic = run("v5e-4x4", chips, {type, kBytes, root});
      INFO(name_of(type));
      CHECK(traffic.finished);
      CHECK_FALSE(traffic.early);
      for (const auto& [chip, bytes] : traffic.sent) CHECK(std::ranges::find(chips, chip) != chips.end());
      return traffic;
    };
    const auto total = [](const std::map<uint32_t, uint64_t>& by_chip) {
      return std::accumulate(by_chip.begin(), by_chip.end(), uint64_t{0},
                             [](uint64_t sum, const auto& one) { return sum + one.second; });
    };
    CHECK(total(all(CollectiveType::kAllGather).received) == ranks * (ranks - 1) * kBytes);
    CHECK(total(all(CollectiveType::kReduceScatter).received) == (ranks - 1) * kBytes);
    CHECK(total(all(CollectiveType::kReduceScatterBlock).received) == (ranks - 1) * kBytes);
    CHECK(total(all(CollectiveType::kAllReduce).received) == 2 * (ranks - 1) * kBytes);
    CHECK(total(all(CollectiveType::kAllToAll).received) == (ranks - 1) * kBytes);
    CHECK(total(all(CollectiveType::kBarrier).received) == 0);
    const auto gather = all(CollectiveType::kGather, 1);
    CHECK(gather.received.size() == 1);
    CHECK(total(gather.received) == (ranks - 1) * kBytes);
    const auto scatter = all(CollectiveType::kScatter, 1);
    CHECK(scatter.sent.size() == 1);
    CHECK(total(scatter.sent) == (ranks - 1) * kBytes / ranks);
    all(CollectiveType::kReduce, 2);
    const auto broadcast = all(CollectiveType::kBroadcast, 1);
    CHECK(broadcast.sent.contains(shape_of(slice_of("v5e-4x4").topology(), chips).chips[1]));
  }
}

TEST_CASE("a group of one chip has nothing to send") {
  for (uint64_t type = 0; type < weft::chakra::kCollectiveTypes; type++) {
    const auto traffic = run("v5e-4x4", {6}, {static_cast<CollectiveType>(type), 1'000, 0});
    INFO(type);
    CHECK(traffic.finished);
    CHECK(traffic.sent.empty());
  }
}

TEST_CASE("an array is spread over all routes in whole packets, a short one takes few") {
  const auto topology = slice_of("v4-4x4x4").topology();
  for (const uint64_t bytes : {0u, 1u, 4096u, 4097u, 50'000u, 10'000'019u}) {
    const auto messages = spread(topology, 0, 42, bytes);
    uint64_t sum = 0;
    for (size_t i = 0; i < messages.size(); i++) {
      sum += messages[i].bytes;
      CHECK((i + 1 == messages.size() || messages[i].bytes % 4096 == 0));
      for (size_t j = 0; j < i; j++)
        CHECK((messages[i].order != messages[j].order || messages[i].way != messages[j].way));
    }
    CHECK(sum == bytes);
    CHECK(messages.size() <= std::max<uint64_t>(1, (bytes + 4095) / 4096));
  }
  CHECK(spread(topology, 0, 42, 10'000'000).size() == 48);  // two hops along each axis: 8 ways, 6 orders
  CHECK(spread(topology, 3, 3, 100).size() == 1);
}
