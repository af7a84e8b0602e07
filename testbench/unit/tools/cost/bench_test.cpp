// Batches as a user writes them, made inputs, and what a table, a document and a picture show of rows.
#include "host/tools/cost/bench.hpp"

#include <nlohmann/json.hpp>

#include "testbench/unit/tools/cost/layered_model.hpp"

using namespace weft;
using namespace weft::tools;
using namespace weft::tools::testing;
using Catch::Contains;

namespace {

Bench sample() {
  BenchRow small, large, host;
  small.batch = 2, small.device_cycles = 1000, small.bound_cycles = 500, small.work = {6400, 100, 0},
  small.bound_by = "HBM";
  large.batch = 64, large.device_cycles = 4000, large.bound_cycles = 3200, large.work = {204800, 300, 0},
  large.bound_by = "MXU";
  host.batch = 128, host.islands = 1, host.host_seconds = 0.25;
  return {"m.onnx", "nano", "fast", {large, small, host}};
}

}  // namespace

TEST_CASE("batches are numbers with commas between, each once") {
  CHECK(parse_batches("7").value() == std::vector<uint64_t>{7});
  CHECK(parse_batches("1,64,8").value() == std::vector<uint64_t>{1, 64, 8});
  for (const char* wrong :
       {"", ",", "1,", "0", "-1", "1.5", "8 ", "2147483649", "99999999999999999999", "1,2,1", "a"}) {
    const auto batches = parse_batches(wrong);
    REQUIRE_FALSE(batches.ok());
    CHECK(batches.error().code == WEFT_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(batches.error().message, Contains("--batch"));
  }
}

TEST_CASE("a model has a batch of its own if no input depends on it") {
  CHECK(fixed_batch(two_products(5, 8, 8, 8), two_products(5, 8, 8, 8)) == 5);
  CHECK_FALSE(fixed_batch(two_products(1, 8, 8, 8), two_products(2, 8, 8, 8)));
  CHECK(fixed_batch(Module{}, Module{}) == 1);
}

TEST_CASE("made inputs are those of the seed, f32 within bounds and anything else zero") {
  Module module;
  module.add_parameter("x", f32({40, 50}));
  module.add_parameter("i", {ElementType::kI64, {3}});
  const auto a = made_inputs(module, 4), b = made_inputs(module, 4), c = made_inputs(module, 5);
  REQUIRE(a.size() == 2);
  CHECK(a[0]->data == b[0]->data);
  CHECK(a[0]->data != c[0]->data);
  float least = 1, most = -1;
  for (uint64_t i = 0; i < 2000; i++)
    least = std::min(least, a[0]->as<float>()[i]), most = std::max(most, a[0]->as<float>()[i]);
  CHECK(least >= -1);
  CHECK(least < -0.9f);
  CHECK(most < 1);
  CHECK(most > 0.9f);
  CHECK(a[1]->integers() == compiler::ir::Dims{0, 0, 0});
}

TEST_CASE("a model of islands alone needs no device") {
  Module module;
  Builder build(module);
  module.outputs.push_back({"y", build.unary(compiler::ir::OpKind::kSine, module.add_parameter("x", f32({2, 3})))});
  const auto model = compiled(std::move(module), "nano");
  const auto row = bench_batch(*spec::find_chip("nano"), model, 2, 1, nullptr);
  REQUIRE(row.ok());
  CHECK(row.value().device_cycles == 0);
  CHECK(row.value().islands == 1);
}

TEST_CASE("throughput, use of the MXUs and share of the bound are computed from cycles") {
  const auto& chip = *spec::find_chip("nano");  // 1 GHz, 64 MACs a cycle
  const auto json = nlohmann::json::parse(bench_json(chip, sample()));
  REQUIRE(json["batches"].size() == 3);
  CHECK(json["batches"][0]["samples_per_second"].get<double>() == Approx(64 / 4e-6));
  CHECK(json["batches"][0]["device_us"].get<double>() == Approx(4));
  CHECK(json["batches"][0]["mxu_utilization"].get<double>() == Approx(0.8));
  CHECK(json["batches"][0]["achieved"].get<double>() == Approx(0.8));
  CHECK(json["batches"][2]["samples_per_second"] == 0);
  const auto text = bench_text(chip, sample());
  CHECK_THAT(text, Contains("   64           4000  4.00   16000000  80.0 %   3200        80.0 %"));
  CHECK_THAT(text, Contains("0.250"));
}

TEST_CASE("the picture has a dot for each batch that the device ran, in both panels") {
  const auto picture = bench_picture(*spec::find_chip("nano"), sample());
  size_t dots = 0;
  for (size_t at = picture.find("<circle"); at != std::string::npos; at = picture.find("<circle", at + 1)) dots++;
  CHECK(dots == 4);
  CHECK_THAT(picture, Contains("<title>batch 2: 2 M samples/s, 1000 cycles, bound 500 (HBM)</title>"));
  CHECK_THAT(picture, Contains("<title>batch 64: 4 us, 4000 cycles, bound 3200 (MXU)</title>"));
  CHECK(picture.find("batch 2:") < picture.find("batch 64:"));
  Bench nothing = sample();
  nothing.rows = {nothing.rows[2]};
  CHECK_THAT(bench_picture(*spec::find_chip("nano"), nothing), !Contains("<circle") && Contains("</svg>"));
}
