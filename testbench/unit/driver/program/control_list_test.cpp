// Control lists in executables: what is right is described and reaches the image, what is wrong is named.
#include "driver/program/control_list.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <random>

#include "driver/program/program_image.hpp"
#include "testbench/unit/driver/test_executable.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

/// Why the list is refused; empty: it is not.
std::string refusal(const TestList& list, uint32_t arguments = 2) {
  const Bytes file = make_listed(nano(), list, arguments);
  const Status status = load_executable(file, nano()).status();
  if (status.ok()) return {};
  CHECK(status.code() == WEFT_ERROR_EXECUTABLE_INVALID);
  CHECK_THAT(status.message(), Contains("section control, offset "));
  return status.message();
}

std::string refusal(const std::function<void(TestList&)>& change) {
  TestList list = test_list();
  change(list);
  return refusal(list);
}

/// Offsets of the tables in the section.
constexpr uint64_t kBlocks = 64, kBindings = 128, kEntries = 256;

std::string at(uint64_t offset) { return "offset " + std::to_string(offset) + ":"; }

}  // namespace

TEST_CASE("a control list is described, and the image holds its bytes where the kernel says") {
  const TestList list = test_list();
  const Bytes file = make_listed(nano(), list);
  const auto loaded = load_executable(file, nano());
  REQUIRE(loaded.ok());
  const auto& kernels = loaded.value().kernels;
  REQUIRE(kernels.size() == 2);
  CHECK_FALSE(kernels[0].control.has_value());
  REQUIRE(kernels[1].control.has_value());
  CHECK(kernels[1].control->entries.size() == 7);
  CHECK(kernels[1].control->bindings[0].stride_bytes[0] == 64);
  CHECK(kernels[0].command_count() == 1);
  CHECK(kernels[1].command_count() == 1);
  const ProgramImage image(loaded.value(), nano());
  Bytes bytes(image.bytes());
  image.read(0, bytes.data(), bytes.size());
  weft_program_kernel plain, listed;
  std::memcpy(&plain, bytes.data() + sizeof(weft_program_header), sizeof plain);
  std::memcpy(&listed, bytes.data() + sizeof(weft_program_header) + sizeof plain, sizeof listed);
  CHECK(plain.control_bytes == 0);
  CHECK(plain.control_offset == 0);
  CHECK(listed.argument_readable == 0);
  const Bytes expected = list_bytes(list, 1);
  REQUIRE(listed.control_bytes == expected.size());
  REQUIRE(listed.control_offset + listed.control_bytes <= bytes.size());
  CHECK(std::memcmp(bytes.data() + listed.control_offset, expected.data(), expected.size()) == 0);
}

TEST_CASE("a kernel with a list may have a thousand arguments, one without 29") {
  CHECK(refusal(test_list(), 1000).empty());
  Bytes kernels;
  append(kernels, kernel_record("plain", 30, 1));
  for (uint32_t i = 0; i < 30; i++)
    append(kernels, argument_record("a" + std::to_string(i), WEFT_ARGUMENT_DIRECTION_INPUT));
  const Bytes file = make_file(
      nano(), {{WEFT_SECTION_KIND_KERNELS, kernels}, {WEFT_SECTION_KIND_COMMANDS, Bytes(64, std::byte{0x11})}});
  CHECK_THAT(load_executable(file, nano()).status().message(), Contains("30 arguments, 29 are possible"));
}

TEST_CASE("every wrong entry is named") {
  using L = TestList;
  const auto entry = [](size_t i, size_t field) { return at(kEntries + i * 16 + field); };
  CHECK_THAT(refusal([](L& l) { l.entries[2].opcode = 9; }), Contains(entry(2, 0)) && Contains("opcode 9"));
  CHECK_THAT(refusal([](L& l) { l.entries[2].flags = 2; }), Contains(entry(2, 1)));
  CHECK_THAT(refusal([](L& l) { l.entries[1].flags = 1; }), Contains(entry(1, 1)));
  CHECK_THAT(refusal([](L& l) { l.entries[4].condition = 0; }), Contains(entry(4, 2)));
  CHECK_THAT(refusal([](L& l) { l.entries[2].condition = 1; }), Contains(entry(2, 2)));
  CHECK_THAT(refusal([](L& l) { l.entries[2].reserved = 1; }), Contains(entry(2, 3)));
  CHECK_THAT(refusal([](L& l) { l.entries[2].target = 1; }), Contains(entry(2, 4)));
  CHECK_THAT(refusal([](L& l) { l.entries[2].first = 1; }), Contains(entry(2, 6)) && Contains("block 1, there are 1"));
  CHECK_THAT(refusal([](L& l) { l.entries[4].first = 2; }), Contains(entry(4, 6)));
  CHECK_THAT(refusal([](L& l) { l.entries[0].count = 3; }), Contains(entry(0, 8)));
  CHECK_THAT(refusal([](L& l) { l.entries[1].count = 0; }), Contains(entry(1, 8)) && Contains("0 turns"));
  CHECK_THAT(refusal([](L& l) { l.entries[2].count = 1; }), Contains(entry(2, 8)));
  CHECK_THAT(refusal([](L& l) { l.entries[2].value = 1; }), Contains(entry(2, 12)));
  CHECK_THAT(refusal([](L& l) { l.entries[1].target = 2; }), Contains(entry(1, 4)) && Contains("which is 3"));
  CHECK_THAT(refusal([](L& l) { l.entries[3].target = 2; }), Contains(entry(3, 4)) && Contains("which is 1"));
  CHECK_THAT(refusal([](L& l) { l.entries.pop_back(); }), Contains(entry(4, 4)) && Contains("has no end"));
  CHECK_THAT(refusal([](L& l) {
               l.entries[1].opcode = WEFT_CONTROL_OPCODE_RUN, l.entries[1].target = 0, l.entries[1].count = 0;
             }),
             Contains("ends nothing"));
  CHECK_THAT(refusal([](L& l) { l.entries[0].first = 1; }),
             Contains(entry(0, 6)) && Contains("the word of a condition"));
  CHECK_THAT(refusal([](L& l) { l.entries[4].first = 0; }), Contains(entry(4, 6)) && Contains("of a segment"));
  CHECK_THAT(refusal([](L& l) { l.entries.clear(); }), Contains("0 entries, 1 to 256"));
}

TEST_CASE("every wrong block and binding is named") {
  using L = TestList;
  const auto binding = [](size_t i, size_t field) { return at(kBindings + i * 64 + field); };
  CHECK_THAT(refusal([](L& l) { l.blocks[0].queue_first[1] = 3; }), Contains(at(kBlocks + 4)));
  CHECK_THAT(refusal([](L& l) { l.blocks[0].queue_count[4] = 2; }),
             Contains(at(kBlocks + 16)) && Contains("2 commands from 1"));
  CHECK_THAT(refusal([](L& l) { l.blocks[0].queue_count[4] = 0; }), Contains("has no commands"));
  CHECK_THAT(refusal([](L& l) { l.blocks[0].reserved[1] = 1; }), Contains(at(kBlocks + 40)) || Contains("reserved"));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].segment = 32; }), Contains(binding(0, 0)));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].access = 2; }), Contains(binding(0, 4)));  // x is an input
  CHECK_THAT(refusal([](L& l) { l.bindings[0].access = 0; }), Contains(binding(0, 4)));
  CHECK_THAT(refusal([](L& l) { l.bindings[1].access = 1; }), Contains(binding(1, 4)));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].argument = 2; }), Contains(binding(0, 8)) && Contains("'listed' has 2"));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].argument = WEFT_EXECUTABLE_CONTROL_SCRATCH; }), Contains(binding(0, 8)));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].reserved0 = 1; }), Contains(binding(0, 12)));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].offset_bytes = 8; }), Contains(binding(0, 16)));
  CHECK_THAT(refusal([](L& l) { l.bindings[1].offset_bytes = 2; }), Contains(binding(1, 16)));
  CHECK_THAT(refusal([](L& l) { l.bindings[1].size_bytes = 8; }), Contains(binding(1, 24)));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].stride_bytes[0] = 8; }), Contains(binding(0, 32)));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].stride_bytes[0] = 0; }), Contains(binding(0, 32)));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].stride_bytes[1] = 16; }), Contains(binding(0, 40)));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].stride_loop[0] = 2; }), Contains(binding(0, 56)) && Contains("entry 2"));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].stride_loop[2] = 1, l.bindings[0].stride_bytes[2] = 16; }),
             Contains(binding(0, 60)));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].reserved1 = 1; }), Contains("reserved"));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].argument = WEFT_EXECUTABLE_CONTROL_CONSTANTS; }),
             Contains("leave the 0 bytes of the constants"));
}

TEST_CASE("a window leaves its argument in no turn") {
  using L = TestList;
  CHECK(refusal([](L&) {}).empty());  // 16 + 3 x 64 + 48 = 256
  CHECK_THAT(refusal([](L& l) { l.bindings[0].size_bytes = 64; }), Contains("leave the 256 bytes of argument 'x'"));
  CHECK_THAT(refusal([](L& l) { l.entries[1].count = 5; }), Contains("leave the 256 bytes"));
  CHECK_THAT(refusal([](L& l) { l.bindings[0].stride_bytes[0] = static_cast<uint64_t>(-16); }), Contains("leave"));
  CHECK(refusal([](L& l) {
          l.bindings[0].stride_bytes[0] = static_cast<uint64_t>(-16), l.bindings[0].offset_bytes = 48;
        }).empty());
  CHECK_THAT(refusal([](L& l) { l.entries[1].count = UINT32_MAX, l.bindings[0].stride_bytes[0] = (1ull << 40) - 16; }),
             Contains("leave"));
}

TEST_CASE("a wrong header of a list is named, and so is padding that is not 0") {
  const auto refused = [](size_t offset, uint32_t value) {
    Bytes bytes = list_bytes(test_list(), 1);
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    Bytes kernels;
    append(kernels, kernel_record("plain", 0, 1));
    append(kernels, kernel_record("listed", 2));
    append(kernels, argument_record("x", WEFT_ARGUMENT_DIRECTION_INPUT));
    append(kernels, argument_record("y", WEFT_ARGUMENT_DIRECTION_OUTPUT));
    const Bytes file = make_file(nano(), {{WEFT_SECTION_KIND_KERNELS, kernels},
                                          {WEFT_SECTION_KIND_COMMANDS, Bytes(128, std::byte{0x11})},
                                          {WEFT_SECTION_KIND_CONTROL, bytes}});
    return load_executable(file, nano()).status().message();
  };
  CHECK_THAT(refused(0, 2), Contains("version 2 of control lists, this driver reads 1"));
  CHECK_THAT(refused(4, 2), Contains("a list of kernel 2, there are 2"));
  CHECK_THAT(refused(4, 16), Contains("a list of kernel 16"));
  CHECK_THAT(refused(8, 257), Contains("257 blocks, 0 to 256"));
  CHECK_THAT(refused(12, 1025), Contains("1025 bindings, 0 to 1024"));
  CHECK_THAT(refused(16, 0), Contains("0 entries, 1 to 256"));
  CHECK_THAT(refused(16, 20), Contains("its tables take"));
  CHECK_THAT(refused(20, 1), Contains("reserved"));
  CHECK_THAT(refused(24, 64), !Contains("OK"));
  CHECK_THAT(refused(24, 48), Contains("a list of 48 bytes"));
  CHECK_THAT(refused(40, 1), Contains("reserved"));
  CHECK_THAT(refused(kEntries + 7 * 16, 1), Contains("padding is not 0"));
  CHECK_THAT(refused(4, 0), Contains("'plain' has commands beside those of its blocks"));
}

TEST_CASE("random changes of a list are refused or described, never worse") {
  constexpr unsigned kSeed = 31;
  INFO("seed " << kSeed);
  std::mt19937_64 random(kSeed);
  int taken = 0, refused = 0;
  for (int n = 0; n < 4000; n++) {
    TestList list = test_list();
    auto& binding = list.bindings[random() % 2];
    auto* bytes = random() % 2 != 0 ? reinterpret_cast<uint8_t*>(&list.entries[random() % 7])
                                    : reinterpret_cast<uint8_t*>(&binding);
    bytes[random() % 16] = static_cast<uint8_t>(random() % 5 == 0 ? random() : random() % 8);
    const Bytes file = make_listed(nano(), list);
    (load_executable(file, nano()).ok() ? taken : refused)++;
  }
  CHECK(taken > 100);
  CHECK(refused > 100);
}

TEST_CASE("the place of a fault names entry, block and turns") {
  const uint32_t turns[] = {2, 0, 3, 0};
  CHECK(control_place_text(4, 1, turns) == "entry 3 of the control list, block 1, turn 2.0.3");
  const uint32_t none[] = {0, 0, 0, 0};
  CHECK(control_place_text(1, UINT16_MAX, none) == "entry 0 of the control list, turn 0");
}
