// Occasions of injected faults, and what cannot be armed.
#include "model/chip/fault_injector.hpp"

#include <catch2/catch.hpp>
#include <random>

using weft::chip::FaultInjector;
using weft::chip::InjectedFault;

namespace {

constexpr uint64_t kRefused = 1u << 8;

}  // namespace

TEST_CASE("a fault acts at its n-th occasion, count times, and is gone") {
  FaultInjector injector;
  REQUIRE(injector.arm({.kind = WEFT_INJECTED_FAULT_DOORBELL_LOST, .target = 3, .nth = 3, .count = 2}));
  CHECK(injector.status() == 1);
  for (int n = 1; n <= 6; n++) {
    const bool acts = injector.occasion(WEFT_INJECTED_FAULT_DOORBELL_LOST, 3) != nullptr;
    CHECK(acts == (n == 3 || n == 4));
  }
  CHECK(injector.armed() == 0);
  CHECK(injector.status() == uint64_t{2} << 32);
}

TEST_CASE("other targets and other kinds are no occasions") {
  FaultInjector injector;
  REQUIRE(injector.arm({.kind = WEFT_INJECTED_FAULT_DOORBELL_LOST, .target = 3}));
  CHECK(injector.occasion(WEFT_INJECTED_FAULT_DOORBELL_LOST, 2) == nullptr);
  CHECK(injector.occasion(WEFT_INJECTED_FAULT_DOORBELL_VALUE, 3) == nullptr);
  CHECK(injector.occasion(WEFT_INJECTED_FAULT_DOORBELL_LOST, 3) != nullptr);
}

TEST_CASE("a fault for ever acts from its occasion on until it is disarmed") {
  FaultInjector injector;
  REQUIRE(injector.arm(
      {.kind = WEFT_INJECTED_FAULT_INTERRUPT_LOST, .target = 1, .nth = 2, .count = InjectedFault::kForEver}));
  CHECK(injector.occasion(WEFT_INJECTED_FAULT_INTERRUPT_LOST, 1) == nullptr);
  for (int n = 0; n < 100; n++) CHECK(injector.occasion(WEFT_INJECTED_FAULT_INTERRUPT_LOST, 1) != nullptr);
  injector.disarm();
  CHECK(injector.occasion(WEFT_INJECTED_FAULT_INTERRUPT_LOST, 1) == nullptr);
  CHECK(injector.status() == 0);
}

TEST_CASE("two faults of a kind both count, and one acts at an occasion") {
  FaultInjector injector;
  REQUIRE(injector.arm({.kind = WEFT_INJECTED_FAULT_HOST_READ_FLIP, .nth = 1, .value = {7}}));
  REQUIRE(injector.arm({.kind = WEFT_INJECTED_FAULT_HOST_READ_FLIP, .nth = 2, .value = {9}}));
  const InjectedFault* first = injector.occasion(WEFT_INJECTED_FAULT_HOST_READ_FLIP);
  REQUIRE(first != nullptr);
  CHECK(first->value[0] == 7);
  const InjectedFault* second = injector.occasion(WEFT_INJECTED_FAULT_HOST_READ_FLIP);
  REQUIRE(second != nullptr);
  CHECK(second->value[0] == 9);
  CHECK(injector.armed() == 0);
}

TEST_CASE("what a kind cannot have is refused and changes nothing") {
  FaultInjector injector;
  const auto refused = [&](const InjectedFault& fault) {
    const size_t before = injector.armed();
    const bool armed = injector.arm(fault);
    return !armed && injector.armed() == before && (injector.status() & kRefused) != 0;
  };
  CHECK(refused({.kind = 0}));
  CHECK(refused({.kind = 30}));
  CHECK(refused({.kind = 32}));
  CHECK(refused({.kind = 41}));
  CHECK(refused({.kind = UINT32_MAX}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_DOORBELL_LOST, .target = WEFT_LIMIT_IO_QUEUES + 1}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_DOORBELL_LOST, .nth = 0}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_DOORBELL_LOST, .count = 0}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_DOORBELL_LOST, .value = {1}}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_DOORBELL_VALUE, .value = {uint64_t{1} << 32}}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_INTERRUPT_LOST, .target = WEFT_PCI_MSIX_VECTORS}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_INTERRUPT_SPURIOUS}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_INTERRUPT_SPURIOUS, .value = {65537}}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_COMPLETION_FLIP, .value = {256}}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_BOOT_STOP, .target = WEFT_BOOT_STAGE_READY + 1}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_RESET_STUCK, .target = 1}));
  CHECK(refused({.kind = WEFT_INJECTED_FAULT_COPY_ERROR, .value = {0, 0, 0, 1}}));
  REQUIRE(injector.arm({.kind = WEFT_INJECTED_FAULT_COPY_ERROR}));
  CHECK((injector.status() & kRefused) == 0);
}

TEST_CASE("the seventeenth fault is refused") {
  FaultInjector injector;
  for (size_t i = 0; i < FaultInjector::kMaxArmed; i++)
    REQUIRE(injector.arm({.kind = WEFT_INJECTED_FAULT_RESET_STUCK}));
  CHECK_FALSE(injector.arm({.kind = WEFT_INJECTED_FAULT_RESET_STUCK}));
  CHECK(injector.armed() == FaultInjector::kMaxArmed);
}

TEST_CASE("random arming and occasions keep the counts in step") {
  const unsigned seed = 20260101;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  FaultInjector injector;
  uint32_t acted = 0;
  for (int step = 0; step < 100'000; step++) {
    if (draw(3) == 0) {
      const size_t before = injector.armed();
      const bool armed = injector.arm({.kind = draw(48), .target = draw(20), .nth = draw(4), .count = draw(3)});
      REQUIRE(injector.armed() == before + armed);
    } else if (injector.occasion(static_cast<weft_injected_fault>(draw(48)), draw(20)) != nullptr) {
      acted++;
    }
    REQUIRE(injector.armed() <= FaultInjector::kMaxArmed);
    REQUIRE(injector.acted() == acted);
    if (draw(1000) == 0) {
      injector.disarm();
      acted = 0;
    }
  }
}

TEST_CASE("a fault of links names a port that has a neighbour, and stays within its range") {
  constexpr uint64_t kMost = 1'000'000'000;
  FaultInjector injector(0b000101);  // +x and +y
  CHECK(injector.arm({.kind = WEFT_INJECTED_FAULT_LINK_DOWN, .target = 0}));
  CHECK(injector.arm({.kind = WEFT_INJECTED_FAULT_CHIP_CUT, .target = 2}));
  CHECK(injector.arm({.kind = WEFT_INJECTED_FAULT_LINK_FLAP, .target = 2, .value = {kMost}}));
  for (const uint32_t port : {1u, 3u, 4u, 5u, 6u, UINT32_MAX}) {
    INFO("port " << port);
    CHECK_FALSE(injector.arm({.kind = WEFT_INJECTED_FAULT_LINK_DOWN, .target = port}));
  }
  CHECK_FALSE(injector.arm({.kind = WEFT_INJECTED_FAULT_LINK_DOWN, .target = 0, .value = {1}}));
  CHECK_FALSE(injector.arm({.kind = WEFT_INJECTED_FAULT_LINK_FLAP, .target = 0}));
  CHECK_FALSE(injector.arm({.kind = WEFT_INJECTED_FAULT_LINK_FLAP, .target = 0, .value = {kMost + 1}}));
  CHECK_FALSE(injector.arm({.kind = WEFT_INJECTED_FAULT_LINK_CREDIT_LATE, .target = 0}));
  CHECK_FALSE(injector.arm({.kind = WEFT_INJECTED_FAULT_LINK_BIT_ERRORS, .target = 0, .value = {100'000'001}}));
  FaultInjector alone;
  CHECK_FALSE(alone.arm({.kind = WEFT_INJECTED_FAULT_LINK_DOWN, .target = 0}));
}
