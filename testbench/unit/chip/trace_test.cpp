// The Chrome trace.
#include "model/chip/trace.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "testbench/unit/chip/stand_in_firmware.hpp"

using namespace weft;
namespace hal = fw::hal;

TEST_CASE("the trace is JSON with a span a command, in device time, and TRACE_CONTROL turns it off") {
  const std::string path = "trace_test_" + std::to_string(::getpid()) + ".json";
  test::firmware = [] {
    for (;;) {
      hal::wait_for_event(UINT64_MAX);
      if (hal::doorbell_pending(0) == 0) continue;
      (void)hal::push_command(0, test::command_of(500).bytes.data());
    }
  };
  chip::ChipOptions options = test::chip_options("v5e-1mxu");
  std::string error;
  options.trace = TraceFile::open(path, error);
  REQUIRE(options.trace != nullptr);
  auto simulation = chip::Simulation::make(options, error);
  REQUIRE(simulation != nullptr);
  test::ring_doorbell(simulation->function(), 1, 1);
  simulation->run_until_idle();
  test::write_register(simulation->function(), WEFT_REG_TRACE_CONTROL, 0);
  test::ring_doorbell(simulation->function(), 1, 2);
  simulation->run_until_idle();
  simulation.reset();
  options.trace.reset();  // the last that holds it ends the file

  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  ::unlink(path.c_str());
  REQUIRE(json.is_array());
  int commands = 0, tracks = 0, firmware_spans = 0;
  for (const auto& event : json) {
    if (event["name"] == "thread_name") tracks++;
    if (event["name"] == "firmware") firmware_spans++;
    if (event["name"] != "SIGNAL") continue;
    commands++;
    const uint64_t from = event["args"]["cycle_start"], to = event["args"]["cycle_end"];
    CHECK(event["args"]["tag"] == 500);
    CHECK(to - from == 500);
    CHECK(event["ts"].get<double>() == Approx(static_cast<double>(from) / 1500).margin(1e-3));
    CHECK(event["dur"].get<double>() == Approx(500.0 / 1500).margin(1e-3));
  }
  CHECK(commands == 1);
  CHECK(tracks == 1 + WEFT_CORE_UNITS);
  CHECK(firmware_spans >= 1);
}

TEST_CASE("a trace file that does not open is an error with its name") {
  std::string error;
  CHECK(TraceFile::open("/nowhere/trace.json", error) == nullptr);
  CHECK(error.find("/nowhere/trace.json") != std::string::npos);
}
