// Which hosts a slice has, and when messages between them arrive.
#include "host/tools/run/simulated_hosts.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace weft;
using tools::HostOptions;
using tools::SimulatedHosts;

namespace {

/// 8 Gbit/s are 1000 bytes a microsecond.
HostOptions two_slices() { return {.slices = 2, .chips_per_host = 4, .gigabits = 8, .latency_us = 20}; }

constexpr uint64_t kMicrosecond = 1'000'000'000;  // in femtoseconds
constexpr uint64_t kBytes = 1'000'000;
constexpr double kWireUs = 1000 + 113 * 78 / 1000.0;  // 113 packets of up to 8856 bytes, 78 bytes of headers each

double us(uint64_t femtoseconds) { return static_cast<double>(femtoseconds) / static_cast<double>(kMicrosecond); }

}  // namespace

TEST_CASE("what is not said of the hosts is their generation's and what is said stays") {
  const auto known = tools::with_known_hosts({.slices = 2}, "v5e-4x4");
  REQUIRE(known.ok());
  CHECK(known.value().chips_per_host == 8);
  CHECK(known.value().gigabits == Approx(200));
  CHECK(known.value().slices == 2);
  const auto given = tools::with_known_hosts({.chips_per_host = 2, .gigabits = 25}, "v5e-4x4");
  REQUIRE(given.ok());
  CHECK(given.value().chips_per_host == 2);
  CHECK(given.value().gigabits == Approx(25));
  const auto v4 = tools::with_known_hosts({.gigabits = 100}, "v4-4x4x4");
  REQUIRE(v4.ok());
  CHECK(v4.value().chips_per_host == 4);
}

TEST_CASE("hosts of unknown bandwidth and slices that are not there are refused") {
  const auto unpublished = tools::with_known_hosts({}, "v4-4x4x4");
  REQUIRE_FALSE(unpublished.ok());
  CHECK(unpublished.error().code == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(unpublished.error().message, Catch::Contains("v4") && Catch::Contains("--host-gbps"));
  const auto unknown = tools::with_known_hosts({}, "v5e-4x");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == WEFT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("messages of chips at one host follow each other and those of two hosts do not meet") {
  SimulatedHosts hosts(two_slices(), 8);
  const auto alone = hosts.arrivals({{0, 1, 0, kBytes, 0}});
  REQUIRE(alone.size() == 1);
  CHECK(us(alone[0]) == Approx(20 + kWireUs).epsilon(1e-9));
  const uint64_t later = alone[0] + kMicrosecond;
  // Chips 0 and 3 are at one host, 5 at the other; the last message goes the other way.
  const auto at = hosts.arrivals(
      {{0, 1, 0, kBytes, later}, {0, 1, 3, kBytes, later}, {0, 1, 5, kBytes, later}, {1, 0, 0, kBytes, later}});
  REQUIRE(at.size() == 4);
  CHECK(us(at[0] - later) == Approx(20 + kWireUs).epsilon(1e-9));
  CHECK(us(at[1] - later) == Approx(20 + 2 * kWireUs).epsilon(1e-9));
  CHECK(us(at[2] - later) == Approx(20 + kWireUs).epsilon(1e-9));
  CHECK(us(at[3] - later) == Approx(20 + kWireUs).epsilon(1e-9));
  CHECK(hosts.most_bytes_sent() == 3 * (kBytes + 113 * 78));
}

TEST_CASE("the closed form of a crossing counts the chips that a host has") {
  // (S - 1) / S x 4 chips x 1 MB / B + L
  CHECK(SimulatedHosts(two_slices(), 8).crossing_us(kBytes) == Approx(2000 + 20));
  CHECK(SimulatedHosts(two_slices(), 2).crossing_us(kBytes) == Approx(1000 + 20));
  auto four = two_slices();
  four.slices = 4;
  CHECK(SimulatedHosts(four, 8).crossing_us(kBytes) == Approx(3000 + 20));
}
