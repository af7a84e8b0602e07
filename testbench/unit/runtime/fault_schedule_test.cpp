// Schedules of faults as TOML: what is read, what is refused with its line, garbage.
#include "host/runtime/fault_schedule.hpp"

#include <catch2/catch.hpp>
#include <random>

using weft::runtime::describe_fault;
using weft::runtime::read_fault_schedule;
using weft::runtime::write_fault_schedule;

namespace {

constexpr const char* kEveryKey = R"(
[[fault]]
kind = "completion_flip"
queue = 2
nth = 3
count = 4
value = 0x11

[[fault]]
kind = "interrupt_lost"
vector = 1
count = "for ever"

[[fault]]
kind = "core_raise"
launch = 2
queue = "mxu"
command = 3
code = "ALIGNMENT"
address = 0x40

[[fault]]
kind = "core_bus_error"
queue = "dma_in"
command = 5
beat = 7

[[fault]]
kind = "core_vmem_flip"
address = 8
data = 1
check = 128
)";

std::string refusal(const std::string& text) {
  const auto read = read_fault_schedule(text, "s.toml");
  return read.ok() ? "read" : read.error().message;
}

}  // namespace

TEST_CASE("faults of links name their port, and are read back as they are written") {
  const auto read = read_fault_schedule(
      "[[fault]]\nkind = \"link_flap\"\nport = \"-y\"\nnth = 40\nvalue = 5000\n[[fault]]\nkind = \"chip_cut\"\nport = "
      "\"+x\"\n",
      "s.toml");
  REQUIRE(read.ok());
  const auto& faults = read.value();
  CHECK((faults[0].kind == WEFT_INJECTED_FAULT_LINK_FLAP && faults[0].target == 3 && faults[0].nth == 40));
  CHECK(faults[0].value[0] == 5000);
  CHECK(faults[1].target == 0);
  CHECK(describe_fault(faults[0]) == "link_flap of port -y, occasion 40, value 0x1388");
  const auto again = read_fault_schedule(write_fault_schedule(faults), "again");
  REQUIRE(again.ok());
  CHECK(again.value()[0].target == 3);
  CHECK(write_fault_schedule(again.value()) == write_fault_schedule(faults));
  CHECK(refusal("[[fault]]\nkind = \"link_down\"") == "s.toml, line 1: the fault has no 'port'");
  CHECK(refusal("[[fault]]\nkind = \"link_down\"\nport = 0") ==
        "s.toml, line 3: 'port' is none of: +x, -x, +y, -y, +z, -z");
}

TEST_CASE("every key of a schedule arrives in its field") {
  const auto read = read_fault_schedule(kEveryKey, "s.toml");
  REQUIRE(read.ok());
  const auto& faults = read.value();
  REQUIRE(faults.size() == 5);
  CHECK(faults[0].kind == WEFT_INJECTED_FAULT_COMPLETION_FLIP);
  CHECK(faults[0].target == 2);
  CHECK(faults[0].nth == 3);
  CHECK(faults[0].count == 4);
  CHECK(faults[0].value[0] == 0x11);
  CHECK(faults[1].target == 1);
  CHECK(faults[1].nth == 1);
  CHECK(faults[1].count == UINT32_MAX);
  CHECK(faults[2].nth == 2);
  CHECK(faults[2].value[0] == 0x40);
  CHECK(faults[2].value[2] == (WEFT_QUEUE_MXU | WEFT_FAULT_ALIGNMENT << 8 | 3 << 16));
  CHECK(faults[3].value[2] == (WEFT_QUEUE_DMA_IN | 5 << 16 | uint64_t{7} << 32));
  CHECK(faults[4].value[0] == 8);
  CHECK(faults[4].value[1] == 1);
  CHECK(faults[4].value[2] == 0);
  CHECK(faults[4].value[3] == 128);
}

TEST_CASE("a schedule that is written reads back the same") {
  const auto first = read_fault_schedule(kEveryKey, "s.toml");
  REQUIRE(first.ok());
  const std::string text = write_fault_schedule(first.value());
  const auto second = read_fault_schedule(text, "again");
  REQUIRE(second.ok());
  CHECK(write_fault_schedule(second.value()) == text);
  REQUIRE(second.value().size() == first.value().size());
  for (size_t i = 0; i < first.value().size(); i++) {
    CHECK(second.value()[i].kind == first.value()[i].kind);
    CHECK(second.value()[i].target == first.value()[i].target);
    CHECK(second.value()[i].nth == first.value()[i].nth);
    CHECK(second.value()[i].count == first.value()[i].count);
    for (size_t v = 0; v < 4; v++) CHECK(second.value()[i].value[v] == first.value()[i].value[v]);
  }
}

TEST_CASE("what cannot be is refused with file and line") {
  CHECK(refusal("") == "s.toml: no [[fault]] in it");
  CHECK(refusal("x = 1\n").find("s.toml, line 1: 'x' is not expected") == 0);
  CHECK(refusal("\n[[fault]\n").find("s.toml, line 2:") == 0);
  CHECK(refusal("[[fault]]\nnth = 1\n") == "s.toml, line 1: the fault has no 'kind'");
  CHECK(refusal("[[fault]]\nkind = \"doorbel\"\n").find("s.toml, line 2: 'kind' is none of: doorbell_lost, ") == 0);
  CHECK(refusal("[[fault]]\nkind = \"reset_stuck\"\nqueue = 1\n") ==
        "s.toml, line 3: 'queue' is no key of this kind of fault");
  CHECK(refusal("[[fault]]\nkind = \"reset_stuck\"\nnth = 0\n") ==
        "s.toml, line 3: 'nth' is 0: 1 to 4294967295 are possible");
  CHECK(refusal("[[fault]]\nkind = \"reset_stuck\"\nnth = -1\n").find("'nth' is -1") != std::string::npos);
  CHECK(refusal("[[fault]]\nkind = \"reset_stuck\"\nnth = 1.5\n") == "s.toml, line 3: 'nth' is no number");
  CHECK(refusal("[[fault]]\nkind = \"reset_stuck\"\ncount = \"ever\"\n") == "s.toml, line 3: 'count' is no number");
  CHECK(refusal("[[fault]]\nkind = \"core_raise\"\nqueue = \"mxu\"\n") == "s.toml, line 1: the fault has no 'code'");
  CHECK(refusal("[[fault]]\nkind = \"core_vmem_flip\"\ndata = \"0x1ffffffffffffffff\"\n") ==
        "s.toml, line 3: 'data' is no hexadecimal number of 64 bits");
  CHECK(refusal("fault = 3\n").find("made of [[fault]] tables") != std::string::npos);
  CHECK(refusal("fault = [1]\n") == "s.toml, line 1: 'fault' is not made of tables");
  std::string many;
  for (int i = 0; i < 17; i++) many += "[[fault]]\nkind = \"reset_stuck\"\n";
  CHECK(refusal(many) == "s.toml, line 33: more than 16 faults");
}

TEST_CASE("a fault is told in one line") {
  const auto read = read_fault_schedule(kEveryKey, "s.toml");
  REQUIRE(read.ok());
  CHECK(describe_fault(read.value()[0]) == "completion_flip of queue 2, occasion 3, value 0x11, 4 times");
  CHECK(describe_fault(read.value()[1]) == "interrupt_lost of vector 1, occasion 1, for ever");
  CHECK(describe_fault(read.value()[2]) == "core_raise, command 3 of the mxu queue, ALIGNMENT, launch 2");
  CHECK(describe_fault(read.value()[3]) == "core_bus_error, command 5 of the dma_in queue, beat 7, launch 1");
  CHECK(describe_fault(read.value()[4]) == "core_vmem_flip at 0x8, data 0x1, check 0x80, launch 1");
}

TEST_CASE("garbage is read or refused, never more") {
  const unsigned seed = 7;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string base = kEveryKey;
  for (int round = 0; round < 5'000; round++) {
    std::string text = base;
    const auto changes = 1 + random() % 4;
    for (unsigned i = 0; i < changes; i++) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 16);
          break;
        default:
          text.insert(at, 1, static_cast<char>(random()));
          break;
      }
      if (text.empty()) break;
    }
    const auto read = read_fault_schedule(text, "garbage");
    if (read.ok())
      CHECK(read.value().size() <= 16);
    else
      CHECK(read.error().message.find("garbage") == 0);
  }
}
