// Which steps of two micro-batches run at once.
#include "host/compiler/sequence/overlap.hpp"

#include "testbench/unit/compiler/sequence/two_batches.hpp"

using namespace weft;
using namespace weft::compiler;

TEST_CASE("the sum of one micro-batch runs beside the product of the other") {
  const auto made = two_batches();
  REQUIRE(made.plan.steps.size() == 6);
  CHECK(std::ranges::count_if(made.plan.steps, &SequenceStep::is_long) == 2);
  REQUIRE(made.stages.stages.size() == 4);
  REQUIRE(made.stages.pairs.size() == 2);
  for (const auto& [stage, pair] : made.stages.pairs) {
    const auto& both = made.stages.stages[stage];
    REQUIRE((both.program && both.collective));
    const auto& sum = made.plan.steps[*both.collective];
    for (const auto& input : made.plan.steps[*both.program].inputs)
      CHECK_FALSE((input.memory == sum.outputs[0].memory && input.offset_bytes == sum.outputs[0].offset_bytes));
    CHECK(pair.collectives.size() == 4);
    CHECK(pair.hidden.stretch >= 1);
  }
}

TEST_CASE("a chip with too little VMEM for both does one behind the other") {
  const auto made = two_batches();
  auto tiny = *spec::find_chip("nano");
  tiny.vmem_bytes = 1024, tiny.vmem_words = 64;
  const auto stages = overlap(tiny, made.plan, made.programs, kFourLinkedChips);
  CHECK(stages.pairs.empty());
  CHECK(stages.stages.size() == 6);
}
