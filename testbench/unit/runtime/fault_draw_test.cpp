// Drawn faults: the same for a seed, all kinds, within their ranges.
#include "host/runtime/fault_draw.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "host/runtime/fault_schedule.hpp"

using weft::runtime::draw_fault;

namespace {

const weft::spec::Chip& nano() { return *weft::spec::find_chip("nano"); }
const weft::runtime::FaultTargets kTargets{.queues = {2, 3}};

}  // namespace

TEST_CASE("a seed draws the same fault each time, and another seed others") {
  std::set<std::string> told;
  for (uint64_t seed = 0; seed < 200; seed++) {
    const auto first = draw_fault(seed, nano(), kTargets), second = draw_fault(seed, nano(), kTargets);
    CHECK(std::memcmp(first.value, second.value, sizeof first.value) == 0);
    CHECK(weft::runtime::describe_fault(first) == weft::runtime::describe_fault(second));
    told.insert(weft::runtime::describe_fault(first));
  }
  CHECK(told.size() > 150);
}

TEST_CASE("every kind is drawn, the fatal ones only if they are asked for") {
  for (const bool fatal : {false, true}) {
    auto targets = kTargets;
    targets.fatal = fatal;
    std::set<uint32_t> kinds;
    for (uint64_t seed = 0; seed < 3000; seed++) kinds.insert(draw_fault(seed, nano(), targets).kind);
    CHECK(kinds.count(WEFT_INJECTED_FAULT_DEVICE_GONE) == fatal);
    CHECK(kinds.count(WEFT_INJECTED_FAULT_SIMULATOR_EXIT) == fatal);
    CHECK(kinds.count(WEFT_INJECTED_FAULT_RESET_STUCK) == fatal);
    CHECK(kinds.count(WEFT_INJECTED_FAULT_BOOT_STOP) == 0);
    CHECK(kinds.count(WEFT_INJECTED_FAULT_CORE_RAISE) == 1);
    CHECK(kinds.size() == (fatal ? 30 : 27));
  }
}

TEST_CASE("what is drawn can be written and read") {
  for (uint64_t seed = 0; seed < 2000; seed++) {
    const auto fault = draw_fault(seed, nano(), kTargets);
    CAPTURE(seed, weft::runtime::describe_fault(fault));
    const auto read = weft::runtime::read_fault_schedule(weft::runtime::write_fault_schedule({fault}), "drawn");
    REQUIRE(read.ok());
    CHECK(weft::runtime::describe_fault(read.value()[0]) == weft::runtime::describe_fault(fault));
  }
}
