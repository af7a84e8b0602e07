// The instructions that the firmware's image takes, against firmware/budgets.toml.
#include <catch2/catch.hpp>
#include <fstream>
#include <iostream>
#include <map>

#include "testbench/unit/chip/image_host.hpp"

using namespace weft;

namespace {

/// name = number, the digits grouped by underscores; comments.
std::map<std::string, uint64_t> read_budgets() {
  std::map<std::string, uint64_t> budgets;
  std::ifstream file(WEFT_FIRMWARE_BUDGETS);
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    const size_t sign = line.find('=');
    if (sign == std::string::npos) continue;
    std::string number;
    for (const char c : line.substr(sign + 1)) {
      if (c >= '0' && c <= '9') number += c;
    }
    budgets[line.substr(0, line.find_last_not_of(' ', sign - 1) + 1)] = std::stoull(number);
  }
  return budgets;
}

void check(const char* name, uint64_t found) {
  static const auto budgets = read_budgets();
  INFO(name << ": " << found);
  REQUIRE(budgets.contains(name));
  std::cout << "  " << name << " " << found << " of " << budgets.at(name) << "\n";
  CHECK(found != 0);
  CHECK(found <= budgets.at(name));
}

}  // namespace

TEST_CASE("the firmware's image keeps within its budgets of instructions") {
  test::ImageHost host(fw::embedded_image());
  REQUIRE(host.error.empty());
  host.boot();
  REQUIRE(host.device_state() == WEFT_DEVICE_STATE_READY);
  check("boot_instructions", host.instructions());
  check("boot_handler_instructions", host.handler_instructions());
  REQUIRE(host.create_queue() == WEFT_ERROR_OK);
  REQUIRE(host.load({0, 8}) == WEFT_ERROR_OK);
  const uint64_t before = host.instructions();
  host.manager().wake();
  host.simulation->run_until_idle();
  check("idle_pass_instructions", host.instructions() - before);
  REQUIRE(host.launch(0) == WEFT_ERROR_OK);
  check("empty_launch_instructions", host.taken);
  check("doorbell_handler_instructions", host.woken);
  REQUIRE(host.launch(1) == WEFT_ERROR_OK);
  check("arguments_launch_instructions", host.taken);
  REQUIRE(host.load({8}, 1) == WEFT_ERROR_OK);
  REQUIRE(host.launch(0) == WEFT_ERROR_OK);
  check("command_launch_instructions", host.taken);
  check("core_handler_instructions", host.woken);
  REQUIRE(host.fill() == WEFT_ERROR_OK);
  check("copy_handler_instructions", host.woken);
  CHECK(host.traps.empty());
}

TEST_CASE("launches of the image take the same instructions each time, over wraps of the ring") {
  test::ImageHost host(fw::embedded_image());
  REQUIRE(host.error.empty());
  host.boot();
  REQUIRE(host.create_queue() == WEFT_ERROR_OK);
  REQUIRE(host.load({2}, 1) == WEFT_ERROR_OK);
  REQUIRE(host.launch(0) == WEFT_ERROR_OK);
  uint64_t first = 0;
  for (uint32_t i = 0; i < 3 * test::ImageHost::kRing; i++) {
    REQUIRE(host.launch(0) == WEFT_ERROR_OK);
    if (i == 0) first = host.taken;
    INFO("launch " << i);
    REQUIRE(host.taken == first);
  }
}
