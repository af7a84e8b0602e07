// Generation, files and shrinking of random programs; no core runs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "testbench/random/campaign.hpp"
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
    CHECK(back->prefetch == program->prefetch);
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
  for (const char* kind : {"COPY on dma_in", "COPY on dma_out", "FILL on dma_in", "FILL on dma_out", "GATHER on dma_in",
                           "SCATTER on dma_out"})
    CHECK(reached.kinds().contains(kind));
  CHECK(faults == std::set<std::string_view>{"ILLEGAL_OPCODE", "ILLEGAL_FIELD", "ALIGNMENT", "RANGE", "SEGMENT",
                                             "SEMAPHORE_OVERFLOW", "ACC_RANGE", "WATCHDOG", "DMA_BUS", "HAZARD",
                                             "INDEX"});
}

TEST_CASE("an illegal program differs from a legal one in one command only") {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    const auto program = make_program(generate_plan(nano(), seed, Legality::kOneIllegal));
    REQUIRE(program);
    REQUIRE(program->fault);
    unsigned illegal = 0;
    for (const auto& c : program->commands)
      illegal += golden::check_command(c.command, c.queue, nano(), program->segments).has_value();
    // The other codes come from an ending whose commands are legal one by one.
    const auto code = program->fault->code;
    const bool ending = code == WEFT_FAULT_SEMAPHORE_OVERFLOW || code == WEFT_FAULT_WATCHDOG ||
                        code == WEFT_FAULT_DMA_BUS || code == WEFT_FAULT_HAZARD || code == WEFT_FAULT_INDEX;
    CHECK(illegal == (ending ? 0 : 1));
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

TEST_CASE(
    "the ci level has 2000 programs at N = 8, 16 and 32 and 50 at N = 128, the nightly level ten times the first") {
  const auto programs = [](std::string_view level, bool large) {
    uint64_t count = 0;
    for (const Batch& batch : level_batches(level, 1))
      if ((spec::find_chip(batch.chip)->n == 128) == large) count += batch.programs;
    return count;
  };
  CHECK(programs("ci", false) == 2000);
  CHECK(programs("ci", true) == 50);
  CHECK(programs("nightly", false) == 20000);
  CHECK(programs("nightly", true) == 50);
  CHECK(level_batches("weekly", 1).empty());
  for (const char* chip : {"nano", "nano-4mxu", "mini", "small"})
    CHECK(std::ranges::any_of(level_batches("ci", 1), [&](const Batch& b) { return b.chip == chip; }));
}

TEST_CASE("the comparison of both cores has 2,000 compiled programs, and commands in random order, legal and not") {
  const auto programs = [](std::string_view level, bool compiled, Legality legality) {
    uint64_t count = 0;
    for (const Batch& batch : comparison_batches(Comparison::kCores, level, 1))
      if (batch.compiled == compiled && batch.legality == legality) count += batch.programs;
    return count;
  };
  CHECK(programs("ci", true, Legality::kLegal) == 2000);
  CHECK(programs("ci", false, Legality::kLegal) == 415);
  CHECK(programs("ci", false, Legality::kOneIllegal) == 135);
  CHECK(programs("nightly", true, Legality::kLegal) == 20000);
  CHECK(comparison_batches(Comparison::kCores, "weekly", 1).empty());
}

TEST_CASE("the comparison of both forms of the array has 2,000 programs in nightly, on three sizes") {
  uint64_t ci = 0, nightly = 0;
  for (const Batch& batch : comparison_batches(Comparison::kArrays, "ci", 1)) ci += batch.programs;
  for (const Batch& batch : comparison_batches(Comparison::kArrays, "nightly", 1)) nightly += batch.programs;
  CHECK(ci == 200);
  CHECK(nightly == 2000);
  for (const char* chip : {"nano", "mini", "small"})
    CHECK(std::ranges::any_of(comparison_batches(Comparison::kArrays, "ci", 1),
                              [&](const Batch& b) { return b.chip == chip; }));
}

TEST_CASE("two processes reach what one does, and every fault code stands in the table") {
  const std::vector<Batch> batches{{"nano", Legality::kLegal, 5, 9}, {"nano", Legality::kOneIllegal, 5, 8}};
  const CampaignOptions one{.core = "fast", .kind = core::CoreKind::kFast};
  CampaignOptions two = one;
  two.jobs = 2;
  const auto a = run_campaign(batches, one), b = run_campaign(batches, two);
  CHECK(a["failed"] == 0);
  CHECK(a["programs"] == 17);
  for (const char* key : {"programs", "failed", "commands", "cycles", "fault_codes", "reached"})
    CHECK(a[key] == b[key]);
  CHECK(a["fault_codes"].size() == spec::kFaultNames.size() - 1);  // all but NONE
}

TEST_CASE("JUnit has a test case for each batch, and a failure with its rerun line") {
  const auto campaign = nlohmann::json::parse(R"({"seconds": 1.5, "batches": [
      {"chip": "nano", "legality": "legal", "programs": 3, "failed": 1, "first_seed": 7, "seconds": 1.0},
      {"chip": "small", "legality": "legal", "programs": 2, "failed": 0, "first_seed": 7, "seconds": 0.5}],
      "failures": [{"chip": "nano", "legality": "legal", "seed": 8, "report": "is 1 < 2 & \"so\"", "rerun": "run it"}]})");
  const std::string text = junit_text(campaign);
  CHECK(text.find("tests=\"2\" failures=\"1\"") != std::string::npos);
  CHECK(text.find("is 1 &lt; 2 &amp; &quot;so&quot;\nrerun: run it") != std::string::npos);
}
