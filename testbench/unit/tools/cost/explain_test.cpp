// What --explain says of a model agrees with its executable.
#include "host/tools/cost/explain.hpp"

#include <nlohmann/json.hpp>

#include "testbench/unit/tools/cost/layered_model.hpp"

using namespace weft;
using namespace weft::tools;
using namespace weft::tools::testing;
using Catch::Contains;

namespace {

Explanation explained(const ModelProgram& model, const char* chip) {
  auto explanation = explain(*spec::find_chip(chip), model);
  if (!explanation.ok()) FAIL(explanation.error().message);
  return std::move(explanation.value());
}

/// The executable's own bound: MACs at peak, or its bytes at HBM's bandwidth.
void agrees(const Explanation& explanation, const ModelProgram& model, const spec::Chip& chip) {
  CHECK(explanation.work().macs == model.programs[0].macs);
  const auto hbm = static_cast<uint64_t>(engines_of(chip, explanation.costs()).hbm);
  CHECK(std::max(explanation.work().macs / chip.peak_macs_per_cycle, hbm) == model.programs[0].cycle_estimate);
  CHECK(explanation.cycle_estimate() == model.programs[0].cycle_estimate);
}

}  // namespace

TEST_CASE("commands of a product cost what the closed forms say, with their padding") {
  // nano: tiles of 8 x 8. Rows 16, k = 24: three K tiles; n = 12: two column blocks. 16 cycles a tile.
  const auto model = compiled(two_products(16, 24, 12, 8), "nano");
  const auto explanation = explained(model, "nano");
  REQUIRE(explanation.parts.size() == 1);
  const auto& layers = explanation.parts[0].layers;
  REQUIRE(layers.size() == 3);
  CHECK(layers[0].costs.mxu_cycles == 3 * 2 * 16);
  CHECK(padded_share(*spec::find_chip("nano"), layers[0].layer.work.macs, layers[0].costs.mxu_cycles) == Approx(0.25));
  CHECK(layers[0].costs.constant_bytes == 2 * (3 * 8 * 8 * 2) + 16 * 4);  // whole tiles, the bias as a whole row
  CHECK(layers[0].costs.read_bytes == 16 * 24 * 2);
  CHECK(layers[0].costs.written_bytes == 0);
  CHECK(layers[1].costs.mxu_cycles == 0);
  CHECK(layers[1].costs.vpu_cycles > 0);
  CHECK(layers[1].costs.hbm_bytes() == 0);
  CHECK(layers[2].costs.written_bytes == 16 * 8 * 4);
  CHECK(explanation.parts[0].other.hbm_bytes() == 0);
  agrees(explanation, model, *spec::find_chip("nano"));
}

TEST_CASE("values that fit VMEM stay there, and those that do not go through HBM") {
  const auto resident = compiled(two_products(16, 24, 12, 8), "nano");
  const auto small = explained(resident, "nano");
  CHECK(small.parts[0].layers[0].result == Place::kVmem);
  CHECK(small.parts[0].layers[1].operands == std::vector{Place::kVmem});
  CHECK(small.parts[0].layers[0].operands == std::vector{Place::kHbm});
  CHECK(small.parts[0].layers[2].result == Place::kHbm);  // the output
  // 4096 rows of 64 columns are 512 KiB of bf16; nano has 256 KiB of VMEM.
  const auto large = compiled(two_products(4096, 64, 64, 8), "nano");
  const auto spilled = explained(large, "nano");
  CHECK(spilled.parts[0].layers[0].result == Place::kHbm);
  CHECK(spilled.parts[0].layers[1].operands == std::vector{Place::kHbm});
  CHECK(spilled.parts[0].layers[0].costs.scratch_written_bytes == 4096 * 64 * 4);
  agrees(spilled, large, *spec::find_chip("nano"));
}

TEST_CASE("cycles of several MXUs are shared") {
  const auto one = compiled(two_products(64, 64, 64, 64), "nano"),
             four = compiled(two_products(64, 64, 64, 64), "nano-4mxu");
  const auto& chip = *spec::find_chip("nano-4mxu");
  const auto a = explained(one, "nano"), b = explained(four, "nano-4mxu");
  CHECK(engines_of(*spec::find_chip("nano"), a.costs()).mxu == Approx(4 * engines_of(chip, b.costs()).mxu));
  CHECK(padded_share(chip, b.work().macs, b.costs().mxu_cycles) == Approx(0));
}

TEST_CASE("an island stands in the table with its reason") {
  const auto model = compiled(with_island(4), "nano");
  const auto explanation = explained(model, "nano");
  REQUIRE(explanation.parts.size() == 2);
  CHECK(explanation.parts[0].device);
  CHECK_FALSE(explanation.parts[1].device);
  const auto& chip = *spec::find_chip("nano");
  const auto text = explain_text(chip, "m.onnx", model, explanation);
  CHECK_THAT(text, Contains("island: part 1 of 2, nodes wave\n  1 because: no command for sine\n"));
  CHECK_THAT(text, Contains("at least " + std::to_string(explanation.cycle_estimate()) + " cycles"));
  const auto json = nlohmann::json::parse(explain_json(chip, "m.onnx", model, explanation));
  CHECK(json["parts"][1]["where"] == "host");
  CHECK(json["parts"][1]["reasons"]["no command for sine"] == 1);
  uint64_t macs = 0;
  for (const auto& layer : json["parts"][0]["layers"]) macs += layer["macs"].get<uint64_t>();
  CHECK(json["sum"]["macs"] == macs);
  CHECK(macs == 2 * 4 * 16 * 16);
}

TEST_CASE("an executable that is damaged is refused") {
  auto model = compiled(two_products(4, 8, 8, 8), "nano");
  model.programs[0].executable.resize(100);
  CHECK_FALSE(explain(*spec::find_chip("nano"), model).ok());
}
