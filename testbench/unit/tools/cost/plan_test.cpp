// Critical batches and estimates by hand, and what a plan says of a chip that is too small.
#include "host/tools/cost/plan.hpp"

#include <nlohmann/json.hpp>

#include "testbench/unit/tools/cost/layered_model.hpp"

using namespace weft;
using namespace weft::tools;
using namespace weft::tools::testing;
using Catch::Contains;

TEST_CASE("the critical batch is where an engine needs as long as HBM") {
  const auto& chip = *spec::find_chip("nano");  // 64 MACs, 8 lanes, 34 bytes a cycle
  // 640 MACs a sample are 10 cycles; 3400 bytes are 100, and 34 bytes a sample 1: 10 b >= 100 + b.
  CHECK(critical_batch(chip, {1, 2, {640, 3434, 0}, {1280, 3468, 0}}) == 12);
  CHECK(critical_batch(chip, {3, 7, {1920, 3502, 0}, {4480, 3638, 0}}) == 12);
  // 80 elements a sample are 10 cycles as well.
  CHECK(critical_batch(chip, {1, 2, {0, 3434, 80}, {0, 3468, 160}}) == 12);
  CHECK(critical_batch(chip, {1, 2, {640, 34, 0}, {1280, 68, 0}}) == 1);
  CHECK_FALSE(critical_batch(chip, {1, 2, {64, 68, 0}, {128, 136, 0}}));  // HBM grows faster
  CHECK_FALSE(critical_batch(chip, {6, 6, {640, 34, 0}, {640, 34, 0}}));
  CHECK_FALSE(critical_batch(chip, {}));
}

TEST_CASE("layers overlap where values stay in VMEM, and follow each other where they do not") {
  const auto& chip = *spec::find_chip("nano");  // 400 cycles to read, 200 to write
  ExplainedPart part;
  part.layers.resize(2);
  part.layers[0].costs.mxu_cycles = 1000, part.layers[0].costs.vpu_cycles = 100;
  part.layers[1].costs.mxu_cycles = 200, part.layers[1].costs.vpu_cycles = 900;
  CHECK(estimate_cycles(chip, part) == 1200 + 600);
  part.layers[0].costs.scratch_written_bytes = 1;
  CHECK(estimate_cycles(chip, part) == 1000 + 900 + 2 * 600);
}

TEST_CASE("a plan tells memory, fit and what would help") {
  const auto model = compiled(two_products(16, 24, 12, 8), "nano");
  const auto planned = plan_on(*spec::find_chip("nano"), model, 16, {});
  REQUIRE(planned.ok());
  CHECK(planned.value().fits());
  CHECK(planned.value().resident);
  CHECK(planned.value().memory_bytes > (24 * 16 + 16 * 8) * 2 + 16 * 24 * 2 + 16 * 8 * 4);
  spec::Chip tiny = *spec::find_chip("nano");
  PlanRow row = planned.value();
  row.available_bytes = row.memory_bytes - 100;
  CHECK_FALSE(row.fits());
  const Plan plan{"m.onnx", 16, false, {row}};
  CHECK_THAT(plan_text(plan), Contains("100 B too much"));
  const auto json = nlohmann::json::parse(plan_json(plan));
  CHECK(json["chips"][0]["fits"] == false);
  CHECK(json["chips"][0]["missing_bytes"] == 100);
  tiny.hbm_bytes = WEFT_MANAGER_HBM_RESERVED_BYTES + 1024;
  const auto small = plan_on(tiny, model, 16, {});
  REQUIRE(small.ok());
  REQUIRE_FALSE(small.value().help.empty());
  CHECK_THAT(small.value().help[0], Contains("less memory"));
}
