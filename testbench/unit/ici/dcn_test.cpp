#include "model/ici/dcn.hpp"

#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <random>

using namespace weft::ici;

namespace {

constexpr uint64_t kRate = 1'000'000'000;  // 1000 bytes a microsecond

DcnOptions options(Grain grain, uint32_t hosts, bool framing = false) {
  return {.hosts = hosts, .bytes_per_second = kRate, .latency = 20 * kMicrosecond, .framing = framing, .grain = grain};
}

/// When each message arrives, by its place; all sent at 0.
std::vector<double> arrivals_us(const DcnOptions& options, std::vector<DcnMessage> messages) {
  Dcn network(options);
  std::vector<double> at(messages.size(), -1);
  network.on_delivery([&](const DcnMessage& message, Femtoseconds time) { at[message.tag] = microseconds(time); });
  for (size_t i = 0; i < messages.size(); i++) {
    messages[i].tag = i;
    network.send(messages[i], 0);
  }
  network.run_until(kNever);
  return at;
}

}  // namespace

TEST_CASE("between hosts a message alone takes its bytes over the bandwidth and the latency") {
  for (const auto grain : {Grain::kPackets, Grain::kFlows}) {
    CHECK(arrivals_us(options(grain, 2), {{0, 1, 1'000'000}})[0] == Approx(1020).epsilon(1e-9));
    CHECK(arrivals_us(options(grain, 2), {{0, 1, 0}})[0] == Approx(20).epsilon(1e-9));
    // 113 packets, 78 bytes each
    CHECK(arrivals_us(options(grain, 2, true), {{0, 1, 1'000'000}})[0] ==
          Approx(1020 + 113 * 78 / 1000.0).epsilon(1e-9));
  }
}

TEST_CASE("a host's messages set out one after the other, and what arrives from two hosts shares the receiver") {
  for (const auto grain : {Grain::kPackets, Grain::kFlows}) {
    const auto one = arrivals_us(options(grain, 3), {{0, 1, 500'000}, {0, 2, 500'000}});
    CHECK(one[0] == Approx(520).epsilon(1e-9));
    CHECK(one[1] == Approx(1020).epsilon(1e-9));
    const auto two = arrivals_us(options(grain, 3), {{0, 2, 885'600}, {1, 2, 885'600}});
    CHECK(std::max(two[0], two[1]) == Approx(1771.2 + 20).epsilon(1e-6));
    CHECK(std::min(two[0], two[1]) == Approx(1771.2 + 20).epsilon(0.006));  // a packet earlier
    // both ways at once do not meet
    const auto both = arrivals_us(options(grain, 2), {{0, 1, 500'000}, {1, 0, 500'000}});
    CHECK(both[0] == Approx(520).epsilon(1e-9));
    CHECK(both[1] == Approx(520).epsilon(1e-9));
  }
}

TEST_CASE("random messages between hosts all arrive once, no host's wire carries more than its bandwidth") {
  const auto seed = GENERATE(range(1u, 9u));
  const auto grain = GENERATE(Grain::kPackets, Grain::kFlows);
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  Dcn network(options(grain, 6, true));
  std::map<uint64_t, unsigned> arrived;
  std::vector<uint64_t> in(6), out(6);
  double last = 0;
  network.on_delivery([&](const DcnMessage& message, Femtoseconds time) {
    arrived[message.tag]++;
    in[message.to] += Dcn::wire_bytes(message.bytes);
    out[message.from] += Dcn::wire_bytes(message.bytes);
    last = microseconds(time);
    // what has come in took at least its bytes' time
    CHECK(static_cast<double>(in[message.to]) / 1000 + 20 <= last * (1 + 1e-9));
  });
  constexpr uint64_t kMessages = 400;
  for (uint64_t i = 0; i < kMessages; i++) {
    const auto from = static_cast<uint32_t>(random() % 6), to = static_cast<uint32_t>((from + 1 + random() % 5) % 6);
    network.send({from, to, random() % 50'000, i}, random() % (500 * kMicrosecond));
  }
  network.run_until(100 * kMicrosecond);
  CHECK(network.now() <= 100 * kMicrosecond);
  network.run_until(kNever);
  CHECK(arrived.size() == kMessages);
  for (const auto& [tag, times] : arrived) CHECK(times == 1);
  for (uint32_t host = 0; host < 6; host++) CHECK(network.bytes_sent(host) == out[host]);
  const auto busiest =
      static_cast<double>(std::max(*std::max_element(in.begin(), in.end()), *std::max_element(out.begin(), out.end())));
  CHECK(last >= busiest / 1000 + 20);
}
