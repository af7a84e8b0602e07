#include "model/ici/collective.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "model/ici/closed_forms.hpp"
#include "model/ici/slice.hpp"
#include "testbench/unit/ici/named_slice.hpp"

using namespace weft::ici;

namespace {

struct Run {
  Femtoseconds time = 0;
  uint64_t payload_bytes = 0;  ///< over all links
  bool finished = false;
};

Run run(const Topology& slice, const CollectiveOptions& options, uint64_t link = 45'000'000'000) {
  Network network(slice, {.link_bytes_per_second = link, .framing = false});
  Collective collective(slice, options, [&](const Message& message) { network.send(message, network.now()); });
  network.on_delivery([&](const Message& message, Delivery, Femtoseconds) { collective.delivered(message); });
  collective.start();
  REQUIRE(network.run_until(kNever));
  Run result{network.now(), 0, collective.finished()};
  for (uint32_t chip = 0; chip < slice.chips(); chip++)
    for (unsigned port = 0; port < kPorts; port++) result.payload_bytes += network.link(chip, port).payload_bytes;
  return result;
}

}  // namespace

TEST_CASE("an all-gather takes what its closed form says") {
  const struct {
    const char* slice;
    uint64_t bytes;
    unsigned axes;
  } cases[] = {{"v5e-8x4", 33'554'432, 2},
               {"v5e-4x16", 33'554'432, 2},
               {"v4-4x4x4", 2'097'152, 1},
               {"v4-4x4x4", 8'388'608, 3},
               {"v4-4x4x4", 8'388'608, 7}};
  for (const auto& [name, bytes, axes] : cases) {
    const auto slice = test::topology_of(name);
    INFO(name << " axes " << axes);
    const auto gather = run(slice, {CollectiveKind::kAllGather, bytes, axes});
    CHECK(gather.finished);
    CHECK(microseconds(gather.time) == Approx(all_gather_us(slice, bytes, axes, LinkRate{45e9})).epsilon(0.02));
  }
}

TEST_CASE(
    "over axes of different length or form each part is as large as its axis is fast, and the closed form holds") {
  const auto shares = axis_shares(test::topology_of("v5e-8x16"), 3);  // a line of 8, a ring of 16
  CHECK(shares[0] * 7 / 8 == Approx(shares[1] * 15 / 16 / 2));
  CHECK(shares[0] + shares[1] == Approx(1));
  CHECK(shares[2] == 0);
  for (const auto* name : {"v5e-8x16", "v5p-4x4x8", "v4-2x2x4"}) {
    const auto slice = test::topology_of(name);
    INFO(name);
    for (const auto kind : {CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
      const auto found = run(slice, {kind, 16'777'216, 7});
      CHECK(found.finished);
      CHECK(microseconds(found.time) ==
            Approx(all_gather_us(slice, 16'777'216, 7, LinkRate{45e9}, true)).epsilon(0.02));
    }
  }
}

TEST_CASE("out of step a short array is gathered some hops earlier, a long one later") {
  for (const auto* name : {"v5p-4x4x8", "v4-2x2x4"}) {
    INFO(name);
    const auto slice = test::topology_of(name);
    const auto us = [&](uint64_t bytes, bool in_step) {
      const auto found = run(slice, {CollectiveKind::kAllGather, bytes, 7, in_step});
      CHECK(found.finished);
      return microseconds(found.time);
    };
    CHECK(us(65'536, false) < us(65'536, true) - 2);
    CHECK(us(67'108'864, false) > us(67'108'864, true) * 1.2);
  }
}

TEST_CASE("a reduce-scatter takes as long as an all-gather, an all-reduce as long as both") {
  for (const auto* name : {"v4-4x4x4", "v5e-4x4", "v5e-4x16"})
    for (const unsigned axes : {1u, 2u, 3u}) {
      const auto slice = test::topology_of(name);
      INFO(name << " axes " << axes);
      const auto gather = run(slice, {CollectiveKind::kAllGather, 16'777'216, axes});
      const auto scatter = run(slice, {CollectiveKind::kReduceScatter, 16'777'216, axes});
      const auto reduce = run(slice, {CollectiveKind::kAllReduce, 16'777'216, axes});
      CHECK(scatter.finished);
      CHECK(reduce.finished);
      CHECK(scatter.payload_bytes == gather.payload_bytes);
      CHECK(reduce.payload_bytes == gather.payload_bytes + scatter.payload_bytes);
      CHECK(microseconds(scatter.time) == Approx(microseconds(gather.time)).epsilon(0.03));
      CHECK(microseconds(reduce.time) == Approx(microseconds(gather.time + scatter.time)).epsilon(0.03));
    }
}

TEST_CASE("every chip receives every byte that it has not, once") {
  for (const auto* name : {"v5e-4x4", "v5e-2x16", "v4-4x4x4", "v4-2x2x4", "v3-4x2"}) {
    const auto slice = test::topology_of(name);
    INFO(name);
    const uint64_t bytes = 1024u * slice.chips() * 4;
    const auto gather = run(slice, {CollectiveKind::kAllGather, bytes, 7});
    CHECK(gather.finished);
    if (slice.size(1) == slice.size(0)) CHECK(gather.payload_bytes >= (slice.chips() - 1) * bytes * 98 / 100);
  }
}

TEST_CASE("odd rings, pairs and single chips finish") {
  for (const auto& slice :
       {Topology({5, 1, 1}, {true, false, false}, false), Topology({3, 3, 1}, {true, true, false}, false),
        Topology({2, 1, 1}, {true, false, false}, false), Topology({2, 2, 2}, {true, true, true}, false),
        Topology({2, 3, 1}, {false, false, false}, false)})
    for (const auto kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce})
      CHECK(run(slice, {kind, 9999, 7}).finished);
}
