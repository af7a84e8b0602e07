// The control list of a loop: where its turns read and write, and what decides that there is another one.
#include "host/compiler/executable/loop_kernel.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/partition/device_loop.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

/// Squares of x with slices of another operand added, as long as a counter is below `limit`; `attributes` of the loop.
std::string loop_text(const std::string& limit, const std::string& attributes) {
  const std::string region =
      "  %0 = parameter() {dims = [8, 8], element = f32, name = \"0\"} : f32[8, 8]\n"
      "  %1 = parameter() {dims = [], element = i32, name = \"1\"} : i32[]\n"
      "  %2 = parameter() {dims = [], element = i32, name = \"2\"} : i32[]\n"
      "  %3 = parameter() {dims = [9, 8, 8], element = f32, name = \"3\"} : f32[9, 8, 8]\n";
  return "module \"m\"\n%0 = parameter() {dims = [8, 8], element = f32, name = \"x\"} : f32[8, 8]\n%1 = constant() [0] "
         ": "
         "i32[]\n%2 = " +
         limit + "%3 = parameter() {dims = [9, 8, 8], element = f32, name = \"all\"} : f32[9, 8, 8]\n" +
         "%4, %5 = while(%0, %1, %2, %3) {carried = 2" + attributes + "} : f32[8, 8], i32[]\n" +
         "  region {\n  module \"condition\"\n" + region +
         "  %4 = compare(%1, %2) {direction = lt} : pred[]\n  return \"0\" = %4\n  }\n  region {\n  module \"body\"\n" +
         region +
         "  %4 = constant() [1] : i32[]\n  %5 = add(%1, %4) : i32[]\n  %6 = constant() [0] : i32[]\n"
         "  %7 = dot_general(%0, %0) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]} : f32[8, "
         "8]\n"
         "  %8 = dynamic_slice(%3, %1, %6, %6) {slice_sizes = [1, 8, 8]} : f32[1, 8, 8]\n"
         "  %9 = reshape(%8) {dims = [8, 8]} : f32[8, 8]\n  %10 = add(%7, %9) : f32[8, 8]\n"
         "  return \"0\" = %10\n  return \"1\" = %5\n  }\nreturn \"y\" = %4\n";
}

LoopKernel compiled(const std::string& text) {
  const auto& chip = *spec::find_chip("nano");
  const auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message);
  const auto loop = device_loop(module.value(), module.value().op_of(module.value().outputs[0].value));
  if (!loop.ok()) FAIL(loop.error().message);
  LoopPrograms programs;
  programs.state = loop.value().state.size(), programs.turns = loop.value().turns;
  programs.slices_read = loop.value().slices_read;
  JoinedArguments joined{{2, loop.value().turn_reads.size()}, {loop.value().turn.outputs.size()}};
  joined.inputs.resize(2 + programs.slices_read.size(), 1);
  auto turn = lower_joined(chip, loop.value().turn, joined);
  REQUIRE(turn.ok());
  programs.turn = std::move(turn.value());
  if (loop.value().begin) {
    auto begin = lower_joined(chip, *loop.value().begin, {{2, loop.value().begin_reads.size()}, {3}});
    REQUIRE(begin.ok());
    programs.begin = std::move(begin.value());
  }
  auto kernel = compile_loop(chip, programs);
  if (!kernel.ok()) FAIL(kernel.error().message);
  return std::move(kernel.value());
}

std::string counted(int turns) {
  return control_text(
      compiled(loop_text(fmt::format("constant() [{}] : i32[]\n", turns), fmt::format(", turns = {}", turns)))
          .kernel.control);
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) found++;
  return found;
}

}  // namespace

TEST_CASE("counted turns are pairs, and the last one writes the results") {
  // Arguments: 0 the state, 1 the slices, 2 the results.
  const std::string one = counted(1), two = counted(2), seven = counted(7), eight = counted(8);
  CHECK(count(one, "run block 0") == 1);
  CHECK(count(one, "loop") == 0);
  CHECK(count(two, "run block 0") == 2);
  CHECK(count(seven, "loop 3 turns") == 1);
  CHECK(count(eight, "loop 3 turns") == 1);
  CHECK(count(seven, "run block 0") == 3);
  CHECK(count(eight, "run block 0") == 4);
  for (const auto& text : {one, two, seven, eight}) {
    INFO(text);
    // Scratch comes before the results in the last binding, if it comes at all.
    CHECK((text == one || text.rfind("= scratch at") < text.rfind("= argument 2 at 0")));
    CHECK(count(text, "segment 3 = argument 0 at 0") == 1);  // the arguments of the launch are read once
  }
  // Slices are 4 rows of 64 bytes; two of them go by in a turn of the list.
  CHECK(count(eight, "argument 1 at 0, 256 bytes, r") == 1);
  CHECK(count(eight, "argument 1 at 256, 256 bytes, r") == 1);
  CHECK(count(eight, "argument 1 at 512 +512 x turn of") == 1);
  CHECK(count(eight, "argument 1 at 768 +512 x turn of") == 1);
}

TEST_CASE("a computed end is a word behind the state, and the loop ends in the results") {
  const auto loop = compiled(loop_text("parameter() {dims = [], element = i32, name = \"n\"} : i32[]\n", ""));
  const std::string text = control_text(loop.kernel.control);
  INFO(text);
  // The state is 8 rows of 64 bytes and a word in 64 bytes. Block 0 is a turn, block 1 what is before the first one.
  const auto at = [&](const std::string& what, size_t from) {
    const size_t found = text.find(what, from);
    REQUIRE(found != std::string::npos);
    return found;
  };
  size_t next = at("run block 1", 0);
  next = at("while word of argument 3 at 576 not_equal 0", next);
  next = at("run block 0", next);
  next = at("if word of scratch at ", next);
  next = at("run block 0", next);
  next = at("else", next);
  next = at("run block 1", next);
  CHECK(count(text, "run block") == 4);
  CHECK(loop.kernel.control.bindings.size() != 0);
  // Two values of the state, the slices whole and the limit for a turn, the limit for the beginning; two results.
  CHECK(loop.places.size() == 7);
  CHECK(loop.kernel.arguments.size() == 4);
}
