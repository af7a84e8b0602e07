// The Chrome trace.
#include "model/chip/trace.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "firmware/queue/queue.hpp"
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

TEST_CASE("a trace stands in the order of its times, whatever the order in which events came") {
  struct Event {
    TracePlace place;
    std::string json;
  };
  const std::vector<Event> in_order{{{TracePlace::kFirst, 0, 0, 0}, R"({"n":0})"},
                                    {{TracePlace::kFirst, 0, 1, 0}, R"({"n":1})"},
                                    {{2, 0, 1, 5}, R"({"n":2})"},
                                    {{2, 1, 1, 5}, R"({"n":3})"},
                                    {{2, 1, 1, 5}, R"({"n":4})"},
                                    {{2, TracePlace::kMark, 1, 5}, R"({"n":0})"},
                                    {{2, 0, 1, 6}, R"({"n":0})"},
                                    {{2, 0, 2, 1}, R"({"n":0})"},
                                    {{3, 0, 0, 1}, R"({"n":0})"}};
  std::string expected = "[\n";
  for (size_t i = 0; i < in_order.size(); i++) expected += (i == 0 ? "" : ",\n") + in_order[i].json;
  expected += "\n]\n";
  std::mt19937 random(1);
  for (unsigned turn = 0; turn < 20; turn++) {
    auto events = in_order;
    std::shuffle(events.begin(), events.end(), random);
    const std::string path = "trace_test_" + std::to_string(::getpid()) + ".json";
    std::string error;
    auto file = TraceFile::open(path, error);
    REQUIRE(file != nullptr);
    for (const auto& [place, json] : events) file->event(place, json);
    REQUIRE(file->events() == events.size());
    std::vector<std::string> some;
    REQUIRE(file->for_each(2, 3, [&](const TracePlace&, std::string_view json) { some.emplace_back(json); }));
    CHECK(some == std::vector{events[2].json, events[3].json, events[4].json});
    file->finish();
    file->event({0, 0, 0, 0}, "too late");
    file.reset();
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    ::unlink(path.c_str());
    CHECK(text.str() == expected);
  }
}

TEST_CASE("a trace that is removed leaves no file") {
  const std::string path = "trace_test_" + std::to_string(::getpid()) + ".json";
  std::string error;
  auto file = TraceFile::open(path, error);
  REQUIRE(file != nullptr);
  file->name_process(0, "chip");
  file->remove();
  file.reset();
  CHECK_FALSE(std::ifstream(path).good());
}

namespace {

/// What a writer of process 3 at 1 GHz says.
template <typename Write>
nlohmann::json traced(Write write) {
  const std::string path = "trace_test_" + std::to_string(::getpid()) + ".json";
  std::string error;
  auto file = TraceFile::open(path, error);
  REQUIRE(file != nullptr);
  {
    chip::TraceWriter writer(file, 3, 1'000'000'000, [] { return true; });
    write(writer);
  }
  file.reset();
  std::ifstream stream(path);
  auto json = nlohmann::json::parse(stream, nullptr, false);
  ::unlink(path.c_str());
  REQUIRE(json.is_array());
  return json;
}

weft_completion_entry completion_of(const weft_submission_entry& entry, uint64_t start_cycle, weft_error error) {
  weft_completion_entry completion{};
  completion.start_cycle = start_cycle;
  completion.command_id = entry.command_id;
  completion.tag = entry.tag;
  completion.status = WEFT_STATUS(0, 0, error, 0, 0);
  return completion;
}

}  // namespace

TEST_CASE("each command of a host has a span on its queue's track and an arrow of its own to its completion") {
  fw::Queue queue{};
  queue.function = 1;
  queue.id = 2;
  queue.doorbell_cycle = 1000;
  queue.batch_count = 3;
  weft_submission_entry batch[3] = {};
  const uint8_t opcodes[] = {WEFT_QUEUE_OPCODE_COPY, WEFT_QUEUE_OPCODE_LAUNCH, WEFT_QUEUE_OPCODE_LAUNCH};
  for (uint16_t i = 0; i < 3; i++) {
    batch[i].opcode = opcodes[i];
    batch[i].command_id = static_cast<uint16_t>(0x1000 + i);
    batch[i].tag = 7;
  }
  weft_submission_entry forgotten{};
  forgotten.command_id = 0x1000;
  const auto json = traced([&](chip::TraceWriter& writer) {
    const auto matmul = test::command_of(5);
    writer.command_completed(queue, batch, completion_of(batch[0], 1100, WEFT_ERROR_OK), 2000);
    writer.command_started(WEFT_UNIT_MXU, matmul, 2500);
    writer.command_retired(WEFT_UNIT_MXU, matmul, 2600);
    writer.command_completed(queue, batch, completion_of(batch[1], 2400, WEFT_ERROR_OK), 3000);
    writer.command_completed(queue, batch, completion_of(batch[2], 3100, WEFT_ERROR_CANCELLED), 4000);
    writer.command_completed(queue, batch, completion_of(forgotten, 0, WEFT_ERROR_OK), 5000);
    writer.manager_awake(900, 5500);
  });

  std::map<int, std::string> tracks;
  std::vector<nlohmann::json> spans;
  std::map<int, std::vector<nlohmann::json>> arrows;
  for (const auto& event : json) {
    if (event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "X" && event["args"].contains("command")) spans.push_back(event);
    if (event["name"] == "completion") arrows[event["id"]].push_back(event);
  }
  const double from[] = {1, 2, 3, 5}, to[] = {2, 3, 4, 5};  // us
  const char* names[] = {"COPY", "LAUNCH", "LAUNCH", "command"};
  REQUIRE(spans.size() == 4);
  REQUIRE(arrows.size() == 4);
  for (int i = 0; i < 4; i++) {
    INFO("command " << i);
    CHECK(tracks[spans[i]["tid"]] == "function 1 queue 2");
    CHECK(spans[i]["name"] == names[i]);
    CHECK(spans[i]["args"]["status"] == (i == 2 ? "CANCELLED" : "OK"));
    CHECK(spans[i]["ts"] == from[i]);
    CHECK(spans[i]["dur"] == to[i] - from[i]);
    const auto& arrow = arrows[i];
    REQUIRE(arrow.size() == (i == 1 ? 3 : 2));  // a launch's goes by way of the command that ended it
    CHECK(arrow.front()["ph"] == "s");
    CHECK(arrow.front()["tid"] == spans[i]["tid"]);
    CHECK(arrow.front()["ts"] == from[i]);
    if (i == 1) CHECK((arrow[1]["ph"] == "t" && arrow[1]["ts"] == 2.5 && tracks[arrow[1]["tid"]] == "mxu"));
    CHECK(arrow.back()["ph"] == "f");
    CHECK(tracks[arrow.back()["tid"]] == "manager");
    CHECK(arrow.back()["ts"] == to[i]);
  }
}
