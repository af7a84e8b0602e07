// weft dump: records from a live chip and from files, good and damaged.
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>

#include "driver/queue/ring.hpp"
#include "host/tools/live/dump_view.hpp"
#include "host/tools/live/function_dump.hpp"
#include "host/tools/live/ring_entries.hpp"
#include "testbench/unit/tools/live/management_samples.hpp"

using namespace weft::tools;
using namespace weft::test;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

template <typename Record>
std::string hex_of(const Record& record) {
  std::string text;
  for (const std::byte byte : std::as_bytes(std::span(&record, 1)))
    text += fmt::format("{:02x}", static_cast<int>(byte));
  return text;
}

weft_submission_entry submission(uint8_t opcode, uint32_t tag) {
  weft_submission_entry e{};
  e.opcode = opcode;
  e.flags = WEFT_SUBMISSION_FLAG_CHAIN | WEFT_SUBMISSION_FLAG_INTERRUPT;
  e.command_id = 0x1003;
  e.tag = tag;
  e.arg0 = 0x10000;
  e.arg1 = WEFT_LIMIT_ADDRESS_FLAG_HBM | 0x4000;
  e.size = 4096;
  e.crc32c = weft::driver::submission_seal(e, 1);  // entries 99 and 100 of a ring of 64
  return e;
}

Json sample_dump() {
  weft_completion_entry completion{};
  completion.start_cycle = 100'000;
  completion.end_cycle = 123'456;
  completion.command_id = 0x1003;
  completion.queue_id = 3;
  completion.status = 1 | WEFT_ERROR_DMA_FAULT << 5 | 1u << 22;
  weft_log_record second{}, first{};
  second.cycle = 20;
  second.event = WEFT_LOG_EVENT_QUEUE_CREATED;
  second.level = 2;
  second.sequence = 2;
  second.arg0 = 3;
  second.arg1 = 64;
  first.cycle = 10;
  first.event = WEFT_LOG_EVENT_BOOT_STAGE;
  first.level = 2;
  first.sequence = 1;
  weft_fault_record fault{};
  fault.record_number = 1;
  fault.error = WEFT_ERROR_DMA_FAULT;
  fault.queue_id = 3;
  fault.command_id = 0x1003;
  auto wrong = submission(WEFT_QUEUE_OPCODE_NOP, 8);
  wrong.crc32c ^= 1;
  return {{"weft_management", 1},
          {"chip", sample_chip()},
          {"cycle", 5000},
          {"function", sample_function()},
          {"state_page", ""},
          {"log", {hex_of(second), hex_of(first), hex_of(weft_log_record{})}},
          {"faults", {hex_of(fault)}},
          {"rings",
           {{{"id", 3},
             {"submissions",
              {{"first", 99}, {"entries", {hex_of(submission(WEFT_QUEUE_OPCODE_COPY, 7)), hex_of(wrong), nullptr}}}},
             {"completions", {{"first", 98}, {"entries", {hex_of(completion)}}}}}}}};
}

FunctionDump parsed(const Json& reply) {
  auto dump = parse_function_dump(reply.dump());
  INFO((dump.ok() ? std::string() : dump.error().message));
  REQUIRE(dump.ok());
  return dump.value();
}

std::string refusal(const std::function<void(Json&)>& spoil) {
  Json reply = sample_dump();
  spoil(reply);
  const auto dump = parse_function_dump(reply.dump());
  REQUIRE_FALSE(dump.ok());
  return dump.error().message;
}

/// A file that goes with the test.
struct File {
  explicit File(std::string_view bytes)
      : path((std::filesystem::temp_directory_path() / ("weft_dump_test_" + std::to_string(::getpid()))).string()) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~File() { std::filesystem::remove(path); }
  const std::string path;
};

std::string file_refusal(std::string_view bytes) {
  const File file(bytes);
  const auto text = dump_file(file.path, false);
  REQUIRE_FALSE(text.ok());
  CHECK_THAT(text.error().message, Contains(file.path));
  CHECK(text.error().code == WEFT_ERROR_INVALID_ARGUMENT);
  return text.error().message;
}

}  // namespace

TEST_CASE("a dump shows where the processor of an image stands, with all registers by name") {
  Json reply = sample_dump();
  CHECK(dump_text(parsed(reply), {}).find("manager:") == std::string::npos);
  CHECK(Json::parse(dump_json(parsed(reply), {}))["processor"].is_null());
  reply["processor"] = sample_processor();
  const std::string text = dump_text(parsed(reply), {});
  for (const char* part : {"manager: image c86c406e on rv32, 54956 instructions in 90670 cycles\n",
                           "  at 0x081b8 wait_for_event+0xc\n  from 0x0009e _start+0x1e\n",
                           "  zero 10000000  ra   10000001", "  sp   10000002", "  t6   1000001f\n"})
    CHECK_THAT(text, Contains(part));
  CHECK(Json::parse(dump_json(parsed(reply), {}))["processor"] == sample_processor());
}

TEST_CASE("a dump of a processor with too many or too few registers is shown as far as it goes") {
  Json reply = sample_dump();
  reply["processor"] = sample_processor();
  for (const size_t registers : {size_t{0}, size_t{5}, size_t{40}}) {
    reply["processor"]["registers"] = std::vector<uint32_t>(registers, 0xabcd);
    const std::string text = dump_text(parsed(reply), {});
    CHECK_THAT(text, Contains("54956 instructions"));
    CHECK_THAT(text, Contains("\nqueue  state") || Contains("\nno state"));
  }
}

TEST_CASE("records are decoded, in the order in which they were written, and unmapped entries are told") {
  const FunctionDump dump = parsed(sample_dump());
  REQUIRE(dump.log.size() == 2);
  CHECK(dump.log[0].cycle == 10);
  REQUIRE(dump.rings.size() == 1);
  CHECK(dump.rings[0].first_submission == 99);
  REQUIRE(dump.rings[0].submissions.size() == 3);
  CHECK(dump.rings[0].submissions[0]->size == 4096);
  CHECK_FALSE(dump.rings[0].submissions[2]);
  const std::string text = dump_text(dump, {});
  for (const char* part :
       {"0x10000 (host) to 0x4000 (HBM), 4096 bytes", "interrupt+chain", "WRONG", "not mapped", "DMA_FAULT", "23456",
        "cycle 20 info: queue 3 created with 64 entries", "record 1: DMA_FAULT on queue 3", "no state: state page"})
    CHECK_THAT(text, Contains(part));
  const Json json = Json::parse(dump_json(dump, {}));
  CHECK(json["rings"][0]["submissions"][0]["crc_ok"] == true);
  CHECK(json["rings"][0]["submissions"][1]["crc_ok"] == false);
  CHECK(json["rings"][0]["completions"][0]["status"] == "DMA_FAULT");
  CHECK(json["state"].is_null());
  CHECK(json["log"][1]["text"] == "cycle 20 info: queue 3 created with 64 entries");
}

TEST_CASE("only what is selected is shown") {
  const FunctionDump dump = parsed(sample_dump());
  CHECK(dump_text(dump, {.queue = {}, .log_only = true}) ==
        "cycle 10 info: boot stage 0\ncycle 20 info: queue 3 created with 64 entries\n");
  CHECK(dump_text(dump, {.queue = 1, .log_only = false}).find("submissions") == std::string::npos);
  CHECK_FALSE(Json::parse(dump_json(dump, {.queue = {}, .log_only = true})).contains("rings"));
}

TEST_CASE("a reply that is none is told with what is wrong") {
  CHECK_THAT(refusal([](Json& r) { r["log"][0] = "00"; }), Contains("'log' is not 32 bytes"));
  CHECK_THAT(refusal([](Json& r) { r["faults"][0] = 7; }), Contains("'faults' is not 256 bytes"));
  CHECK_THAT(refusal([](Json& r) { r["state_page"] = "0g"; }), Contains("'state_page' is not hexadecimal"));
  CHECK_THAT(refusal([](Json& r) { r["rings"] = 1; }), Contains("'rings' is no list"));
  CHECK_THAT(refusal([](Json& r) { r["rings"][0].erase("completions"); }), Contains("'rings[].completions'"));
  CHECK_THAT(refusal([](Json& r) { r.erase("function"); }), Contains("'function' is missing"));
}

TEST_CASE("any bytes are a dump or are told why they are none") {
  std::mt19937_64 random(seed_of_run());
  const std::string good = sample_dump().dump();
  for (int i = 0; i < 3000; i++) {
    const auto dump = parse_function_dump(spoilt(good, random));
    if (dump.ok()) {
      REQUIRE_FALSE(dump_text(dump.value(), {}).empty());
      REQUIRE_FALSE(dump_json(dump.value(), {}).empty());
    }
  }
}

TEST_CASE("any entry of a ring has a text") {
  std::mt19937_64 random(seed_of_run());
  for (int i = 0; i < 20'000; i++) {
    weft_submission_entry entry;
    weft_completion_entry completion;
    for (std::byte& byte : std::as_writable_bytes(std::span(&entry, 1))) byte = static_cast<std::byte>(random());
    for (std::byte& byte : std::as_writable_bytes(std::span(&completion, 1))) byte = static_cast<std::byte>(random());
    REQUIRE_FALSE(opcode_text(entry.opcode).empty());
    REQUIRE_FALSE(flags_text(entry.flags).empty());
    (void)arguments_text(entry);
    REQUIRE_FALSE(error_text(completion_status(completion).code).empty());
  }
}

TEST_CASE("a hang report is printed from its JSON, a state page from its bytes, anything else is refused by name") {
  const File report(
      R"({"weft_hang_report":1,"code":"DEVICE_HUNG","why":"because","command":{"queue":1,"id":4096,"tag":9},
    "registers":{"after":{"cycle":77,"device_state":"ready","first_error":"OK"}},"firmware":{"text":"loops"},
    "driver_queues":[{"id":1,"state":"active","entries":64}],"state":{"queues":[{"id":1,"state":"active"}]},
    "waits":{"edges":[{"from":"a","to":"b","why":"c"}],"cycle":["a","b"]},"log":["cycle 1 info: x"],"faults":[]})");
  const auto text = dump_file(report.path, false);
  REQUIRE(text.ok());
  for (const char* part : {"DEVICE_HUNG", "because", "loops", "a -> b: c", "CYCLE: a -> b -> a", "cycle 1 info: x"})
    CHECK_THAT(text.value(), Contains(part));
  CHECK(Json::parse(dump_file(report.path, true).value())["why"] == "because");

  CHECK_THAT(file_refusal(""), Contains("neither a hang report"));
  CHECK_THAT(file_refusal("{\"weft_hang_report\": 1"), Contains("not whole JSON"));
  CHECK_THAT(file_refusal("{\"weft_hang_report\": 2}"), Contains("version 2"));
  CHECK_THAT(file_refusal("{\"other\": 2}"), Contains("neither a hang report"));
  CHECK_THAT(file_refusal("WTST"), Contains("state page, byte 4"));
  CHECK_FALSE(dump_file("/nonexistent/file", false).ok());
}

TEST_CASE("any file is printed or refused") {
  std::mt19937_64 random(seed_of_run());
  const std::string good =
      R"({"weft_hang_report":1,"code":"X","state":{"queues":[{"id":1}],"engines":[{}]},"waits":{"edges":[{}],"cycle":[1]}})";
  for (int i = 0; i < 300; i++) {
    const File file(random() % 2 == 0 ? spoilt(good, random) : "WTST" + spoilt(good, random));
    const auto text = dump_file(file.path, random() % 2 == 0);
    REQUIRE((text.ok() ? text.value() : text.error().message).size() > 0);
  }
}
