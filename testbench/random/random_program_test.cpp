// Generation, files and shrinking of random programs; no core runs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "testbench/random/program_generator.hpp"
#include "testbench/random/reached.hpp"
#include "testbench/random/shrink.hpp"
#include "weft/spec/names.hpp"

namespace {

using namespace weft;
using namespace weft::random;

const spec::Chip& nano() { return *spec::find_chip("nano"); }

}  // namespace

TEST_CASE("a program comes back from its file as it was") {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    const auto program =
        make_program(generate_plan(nano(), seed, seed % 2 == 0 ? Legality::kLegal : Legality::kOneIllegal));
    REQUIRE(program);
    std::istringstream text(program_text(*program));
    std::string error;
    const auto back = parse_program(text, error);
    INFO(error);
    REQUIRE(back);
    CHECK(back->commands == program->commands);
    CHECK(back->segments == program->segments);
    CHECK(back->fault == program->fault);
    CHECK(back->data_seed == program->data_seed);
    CHECK(back->stall_percent == program->stall_percent);
    CHECK(back->jitter == program->jitter);
  }
}

TEST_CASE("a file that is no program is refused with the number of its line") {
  std::string error;
  for (const char* text :
       {"chip nano\nnonsense 1\n", "chip nano\ncommand mxu 12\n", "chip nano\nsegment 32 hbm 0x0 0x10 rw-\n"}) {
    std::istringstream in(text);
    CHECK_FALSE(parse_program(in, error));
    CHECK(error.find("line 2") == 0);
  }
  std::istringstream empty("");
  CHECK_FALSE(parse_program(empty, error));
  CHECK(error == "no line names the chip");
}

TEST_CASE("every opcode that is built, on every queue that takes it, and every code of a refusal are reached") {
  Reached reached;
  std::set<std::string_view> faults;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    reached.count(*make_program(generate_plan(nano(), seed, Legality::kLegal)));
    const auto illegal = make_program(generate_plan(nano(), seed, Legality::kOneIllegal));
    REQUIRE(illegal);
    if (illegal->fault) faults.insert(spec::fault_name(illegal->fault->code));
  }
  for (const auto& opcode : spec::kOpcodes) {
    if (!opcode.built) continue;
    INFO(opcode.name);
    CHECK(std::ranges::any_of(reached.kinds(), [&](const auto& kind) { return kind.first.starts_with(opcode.name); }));
  }
  for (const char* kind : {"COPY on dma_in", "COPY on dma_out", "FILL on dma_in", "FILL on dma_out"})
    CHECK(reached.kinds().contains(kind));
  CHECK(faults == std::set<std::string_view>{"ILLEGAL_OPCODE", "ILLEGAL_FIELD", "ALIGNMENT", "RANGE", "SEGMENT",
                                             "SEMAPHORE_OVERFLOW", "ACC_RANGE"});
}

TEST_CASE("an illegal program differs from a legal one in one command only") {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    const auto program = make_program(generate_plan(nano(), seed, Legality::kOneIllegal));
    REQUIRE(program);
    REQUIRE(program->fault);
    unsigned illegal = 0;
    for (const auto& c : program->commands)
      illegal += golden::check_command(c.command, c.queue, nano(), program->segments).has_value();
    CHECK(illegal == (program->fault->code == WEFT_FAULT_SEMAPHORE_OVERFLOW ? 0 : 1));
  }
}

TEST_CASE("a failure that one command causes is shrunk to that command, with small sizes") {
  unsigned shrunk = 0;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    const Plan plan = generate_plan(nano(), seed, Legality::kLegal);
    const StillFails has_odd_product = [](const Program& p) {
      return std::ranges::any_of(p.commands, [](const auto& c) {
        return c.command.bytes[0] == WEFT_OPCODE_MATMUL && spec::decode_mxu(c.command).m >= 3 &&
               spec::decode_mxu(c.command).seed == WEFT_MXU_SEED_KEEP;
      });
    };
    if (!has_odd_product(*make_program(plan))) continue;
    const auto small = make_program(shrink_plan(plan, has_odd_product));
    REQUIRE(small);
    REQUIRE(has_odd_product(*small));
    INFO("seed " << seed);
    REQUIRE(small->commands.size() == 1);
    CHECK(spec::decode_mxu(small->commands[0].command).m == 3);
    CHECK(spec::decode_mxu(small->commands[0].command).k == 1);
    shrunk++;
  }
  CHECK(shrunk > 10);
}
