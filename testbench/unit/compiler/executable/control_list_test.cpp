// Control lists as text, their refusals, and their bytes in an executable.
#include "host/compiler/executable/control_list.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/executable/program_builder.hpp"
#include "weft/spec/chips.hpp"

using namespace weft;
using namespace weft::compiler;
using Catch::Contains;

namespace {

Block block_of(uint16_t tag) {
  spec::NoneCommand signal;
  signal.header.opcode = WEFT_OPCODE_SIGNAL;
  signal.header.tag = tag;
  Block block;
  block[WEFT_QUEUE_SYNC] = {spec::encode(signal)};
  return block;
}

std::string refusal(const ControlListBuilder& list) {
  const auto finished = list.finish();
  return finished.ok() ? std::string() : finished.error().message;
}

constexpr uint32_t kWrite = WEFT_EXECUTABLE_CONTROL_WRITABLE;

}  // namespace

TEST_CASE("a list is printed as it was built") {
  ControlListBuilder list;
  const uint16_t layer = list.add_block(block_of(1)), last = list.add_block(block_of(2));
  const Loop layers = list.new_loop(), steps = list.new_loop();
  list.bind(
      {{3, {.argument = WEFT_EXECUTABLE_CONTROL_CONSTANTS, .size_bytes = 4096, .strides = {{layers, 4096}}}},
       {4, {.argument = 1, .offset_bytes = 64, .size_bytes = 128, .strides = {{steps, -64}, {layers, 16}}}, kWrite}});
  list.begin_while(steps,
                   {.word = {.argument = 0, .offset_bytes = 4}, .compare = WEFT_CONTROL_CONDITION_LESS, .value = 9}, 3);
  list.begin_loop(layers, 12);
  list.run(layer, true);
  list.end();
  list.begin_if({.word = {.argument = 2}});
  list.run(last);
  list.otherwise();
  list.run(layer);
  list.end();
  list.end();
  const auto control = list.finish();
  REQUIRE(control.ok());
  CHECK(control_text(control.value()) ==
        "   0 bind\n"
        "       segment 3 = constants at 0 +4096 x turn of 2, 4096 bytes, r\n"
        "       segment 4 = argument 1 at 64 -64 x turn of 1 +16 x turn of 2, 128 bytes, w\n"
        "   1 while word of argument 0 at 4 less 9, 3 turns at most\n"
        "   2   loop 12 turns\n"
        "   3     run block 0, overlapping\n"
        "   4   end\n"
        "   5   if word of argument 2 at 0 not_equal 0\n"
        "   6     run block 1\n"
        "   7   else\n"
        "   8     run block 0\n"
        "   9   end\n"
        "  10 end\n");
  CHECK(control.value().entries[1].target == 10);
  CHECK(control.value().entries[10].target == 1);
  CHECK(control.value().entries[5].target == 7);
  CHECK(control.value().entries[7].target == 9);
  CHECK(control.value().entries[9].target == 7);
}

TEST_CASE("what is wrong with a list is told, the first of it") {
  const auto built = [](auto&& build) {
    ControlListBuilder list;
    (void)list.add_block(block_of(0));
    build(list);
    return refusal(list);
  };
  CHECK(built([](auto& l) { l.run(0); }).empty());
  CHECK_THAT(built([](auto&) {}), Contains("it is empty"));
  CHECK_THAT(built([](auto& l) { l.run(1); }), Contains("block 1, there are 1"));
  CHECK_THAT(built([](auto& l) { l.end(), l.run(7); }), Contains("entry 0: an end of nothing"));
  CHECK_THAT(built([](auto& l) { l.otherwise(); }), Contains("an else without its if"));
  CHECK_THAT(built([](auto& l) { l.begin_loop(l.new_loop(), 2); }), Contains("entry 0 has no end"));
  CHECK_THAT(built([](auto& l) { l.begin_loop(l.new_loop(), 0), l.end(); }), Contains("a loop of 0 turns"));
  CHECK_THAT(built([](auto& l) {
               const Loop loop = l.new_loop();
               l.begin_loop(loop, 2), l.end(), l.begin_loop(loop, 2), l.end();
             }),
             Contains("opened twice"));
  CHECK_THAT(built([](auto& l) { l.bind({}); }), Contains("a bind of 0 segments"));
  CHECK_THAT(built([](auto& l) { l.bind({{0, {}}}); }), Contains("segment 0"));
  CHECK_THAT(built([](auto& l) {
               l.bind({{3, {.size_bytes = 16, .strides = {{l.new_loop(), 16}}}}});
             }),
             Contains("a stride names a loop that is not there"));
  CHECK_THAT(built([](auto& l) {
               const Loop loop = l.new_loop();
               l.bind({{3, {.size_bytes = 16, .strides = {{loop, 16}}}}});
               l.begin_while(loop, {}), l.end();
             }),
             Contains("a while without a limit"));
  CHECK_THAT(built([](auto& l) {
               const Loop loop = l.new_loop();
               l.bind({{3, {.size_bytes = 16, .strides = {{loop, 1}, {loop, 2}, {loop, 3}, {loop, 4}}}}});
             }),
             Contains("4 strides"));
  CHECK_THAT(built([](auto& l) {
               for (int i = 0; i < 5; i++) l.begin_loop(l.new_loop(), 2);
               for (int i = 0; i < 5; i++) l.end();
             }),
             Contains("entry 4: nested too deep"));
  CHECK_THAT(built([](auto& l) {
               for (int i = 0; i < 9; i++) l.begin_if({});
               for (int i = 0; i < 9; i++) l.end();
             }),
             Contains("entry 8: nested too deep"));
  CHECK_THAT(built([](auto& l) {
               for (uint32_t i = 0; i <= WEFT_EXECUTABLE_CONTROL_ENTRIES; i++) l.run(0);
             }),
             Contains("257 entries, 256 are possible"));
  CHECK_THAT(built([](auto& l) { (void)l.add_block({}), l.run(0); }), Contains("a block without commands"));
}

TEST_CASE("an executable without a list has no section for it, and one with a list refuses commands beside it") {
  const auto& chip = *spec::find_chip("nano");
  ProgramBuilder builder(chip);
  spec::NoneCommand signal;
  signal.header.opcode = WEFT_OPCODE_SIGNAL;
  builder.push(WEFT_QUEUE_SYNC, spec::encode(signal));
  Kernel kernel = builder.kernel("k");
  const auto sections = [&] {
    const auto file = write_executable(chip, kernel);
    REQUIRE(file.ok());
    weft_executable_header header;
    std::memcpy(&header, file.value().data(), sizeof header);
    return header.section_count;
  };
  CHECK(sections() == 4);
  ControlListBuilder list;
  list.run(list.add_block(builder.take_block()));
  CHECK(builder.kernel("k").queues[WEFT_QUEUE_SYNC].empty());
  kernel.control = list.finish().value();
  const auto both = write_executable(chip, kernel);
  REQUIRE_FALSE(both.ok());
  CHECK_THAT(both.error().message, Contains("commands beside those of its control list"));
  kernel.queues = {};
  CHECK(sections() == 5);
  kernel.arguments.assign(WEFT_EXECUTABLE_CONTROL_ARGUMENTS + 1, Argument{.name = "a"});
  CHECK_THAT(write_executable(chip, kernel).error().message, Contains("1025 arguments, a kernel may have 1024"));
}
