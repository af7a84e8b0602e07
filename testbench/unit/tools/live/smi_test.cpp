// weft smi: from replies to tables, and replies that are none.
#include <functional>

#include "host/tools/live/chip_snapshot.hpp"
#include "host/tools/live/smi_view.hpp"
#include "testbench/unit/tools/live/management_samples.hpp"

using namespace weft::tools;
using namespace weft::test;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

ChipSnapshot parsed(const Json& reply) {
  auto chip = parse_chip_snapshot(reply.dump());
  INFO((chip.ok() ? std::string() : chip.error().message));
  REQUIRE(chip.ok());
  return chip.value();
}

std::string refusal(const std::function<void(Json&)>& spoil) {
  Json reply = sample_state(1000, 0);
  spoil(reply);
  const auto chip = parse_chip_snapshot(reply.dump());
  REQUIRE_FALSE(chip.ok());
  return chip.error().message;
}

}  // namespace

TEST_CASE("a reply becomes a snapshot with every field") {
  const ChipSnapshot chip = parsed(sample_state(1000, 5));
  CHECK((chip.preset == "nano" && chip.cycle == 1000 && chip.counters[WEFT_COUNTER_MXU_BUSY] == 5));
  REQUIRE(chip.core_command);
  CHECK((chip.core_command->opcode == "LAUNCH" && chip.core_command->tag == 7));
  CHECK_FALSE(chip.copy_command);
  REQUIRE(chip.functions.size() == 1);
  const FunctionSnapshot& f = chip.functions[0];
  CHECK((f.owner_pid == 4711 && f.owner_process == "trainer" && f.reset_generation == 2));
  CHECK(f.hbm_used_bytes == 1u << 20);
  REQUIRE(f.queues.size() == 2);
  CHECK((f.queues[1].id == 3 && f.queues[1].tail == 102 && f.queues[1].priority == "high"));
  REQUIRE(f.last_errors.size() == 1);
  CHECK(f.last_errors[0].fault == "ECC_DOUBLE");
}

TEST_CASE("the processor of an image is shown, and the cycles of native firmware are said to be charged") {
  Json reply = sample_state(1000, 5);
  CHECK_THAT(smi_text(parsed(reply), parsed(reply)), Contains("asleep, waypoint idle; native, its cycles are charged"));
  reply["firmware"]["processor"] = nullptr;
  const Json native = Json::parse(smi_json(parsed(reply), parsed(reply), -1))["firmware"];
  CHECK((native["charged"] == true && native["processor"].is_null()));
  reply["firmware"]["processor"] = sample_processor();
  const ChipSnapshot chip = parsed(reply);
  REQUIRE(chip.processor);
  CHECK_THAT(smi_text(chip, chip), Contains("waypoint idle; image c86c406e on rv32 at 0x081b8 wait_for_event+0xc\n"));
  const Json json = Json::parse(smi_json(chip, chip, -1))["firmware"];
  CHECK((json["charged"] == false && json["processor"] == sample_processor()));
}

TEST_CASE("a processor that is none is told with the field that is wrong") {
  const auto with = [](const char* field, const Json& value) {
    return refusal([&](Json& r) {
      r["firmware"]["processor"] = sample_processor();
      r["firmware"]["processor"][field] = value;
    });
  };
  CHECK_THAT(refusal([](Json& r) { r["firmware"]["processor"] = 1; }), Contains("'firmware.processor' is no object"));
  CHECK_THAT(with("pc", -1), Contains("'firmware.processor.pc' is no number that fits"));
  CHECK_THAT(with("registers", 1), Contains("'firmware.processor.registers' is no list"));
  CHECK_THAT(with("registers", {1, 1ull << 32}), Contains("'firmware.processor.registers' is no number that fits"));
  CHECK_THAT(with("backtrace", Json::array({Json::object()})),
             Contains("'firmware.processor.backtrace' is neither a name nor"));
}

TEST_CASE("a chip of a slice says which it is, and is not compared with another one") {
  Json reply = sample_state(1000, 0);
  reply["chip"]["number"] = 2;
  reply["chip"]["chips"] = 4;
  ChipSnapshot before = parsed(reply), after = before;
  after.cycle += 1000;
  after.counters_cycle += 1000;
  CHECK_THAT(smi_text(before, after), Contains(", chip 2 of 4: nano"));
  CHECK(Json::parse(smi_json(before, after, -1))["number"] == 2);
  CHECK(utilisation(before, after));
  before.number = 1;
  CHECK_FALSE(utilisation(before, after));
}

TEST_CASE("a reply that is none is told with the field that is wrong") {
  CHECK_THAT(refusal([](Json& r) { r["weft_management"] = 2; }), Contains("speaks version 2, this tool 1"));
  CHECK_THAT(refusal([](Json& r) { r.erase("weft_management"); }), Contains("'weft_management' is missing"));
  CHECK_THAT(refusal([](Json& r) { r["cycle"] = -1; }), Contains("'cycle' is no number"));
  CHECK_THAT(refusal([](Json& r) { r["functions"][0]["queues"][1].erase("head"); }),
             Contains("'functions[0].queues[1].head' is missing"));
  CHECK_THAT(refusal([](Json& r) { r["functions"][0]["queues"][0]["id"] = 1ull << 40; }),
             Contains("'functions[0].queues[0].id' is no number that fits"));
  CHECK_THAT(refusal([](Json& r) { r["engines"] = "busy"; }), Contains("'engines' is no object"));
  CHECK_THAT(refusal([](Json& r) { r["functions"] = {1, 2}; }), Contains("something else than objects"));
  CHECK_FALSE(parse_chip_snapshot("").ok());
  CHECK_FALSE(parse_chip_snapshot(std::string(100'000, '[')).ok());
}

TEST_CASE("any bytes are a snapshot or are told why they are none") {
  std::mt19937_64 random(seed_of_run());
  const std::string good = sample_state(1000, 5).dump();
  for (int i = 0; i < 3000; i++) {
    const auto chip = parse_chip_snapshot(spoilt(good, random));
    if (!chip.ok()) {
      REQUIRE_FALSE(chip.error().message.empty());
    } else {
      REQUIRE_FALSE(smi_text(chip.value(), chip.value()).empty());
    }
  }
}

TEST_CASE("names of a hostile server cannot steer the terminal") {
  Json reply = sample_state(1000, 0);
  reply["functions"][0]["owner"]["process"] = "\x1b[2Jevil\n";
  const std::string text = smi_text(parsed(reply), parsed(reply));
  CHECK_THAT(text, Contains("[2Jevil"));
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("utilisation is what counters grew by over the device cycles between two moments") {
  const auto use = utilisation(parsed(sample_state(1000, 100)), parsed(sample_state(3000, 600)));
  REQUIRE(use);
  CHECK(use->cycles == 2000);
  CHECK(use->mxu == Approx(0.25));
  CHECK(use->macs_of_peak == Approx(0.25 / 64));
  CHECK(use->firmware == Approx(0.25));
  CHECK(use->hbm_read_rate == Approx(0.25e9));
  CHECK(use->hbm == Approx(0.25 / 16));
  CHECK_FALSE(utilisation(parsed(sample_state(1000, 100)), parsed(sample_state(1002, 100))));
  Json other = sample_state(3000, 600);
  other["chip"]["pid"] = 100;
  CHECK_FALSE(utilisation(parsed(sample_state(1000, 100)), parsed(other)));
}

TEST_CASE("the tables hold owners, queues and errors, right-aligned under their headings") {
  const std::string text = smi_text(parsed(sample_state(1000, 100)), parsed(sample_state(3000, 600)));
  for (const char* part : {"LAUNCH 0x1000 (tag 7) of function 0, queue 3", "4711 trainer", "1 MiB",
                           "DMA_FAULT (3 pending)", "halted", "COMPUTE_FAULT", "ECC_DOUBLE", "MXU 25.0 %", "+0"})
    CHECK_THAT(text, Contains(part));
  CHECK(text.find(" \n") == std::string::npos);
  const Json json = Json::parse(smi_json(parsed(sample_state(1000, 100)), parsed(sample_state(3000, 600)), -1));
  CHECK(json["utilisation"]["mxu"] == Approx(0.25));
  CHECK(json["functions"][0]["owner"]["process"] == "trainer");
  CHECK(json["functions"][0]["queues"][1]["state"] == "halted");
}

TEST_CASE("bytes have three digits and a binary unit") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(1023) == "0.999 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(16ull << 30) == "16 GiB");
}
