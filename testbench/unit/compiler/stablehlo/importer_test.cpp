// StableHLO programs as jaxlib writes them (testbench/fuzz/corpora/stablehlo): taken, and refused for what is wrong
// with them. What they compute is compared with JAX on the CPU by testbench/jax.
#include "host/compiler/stablehlo/importer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/compiler/ir/callbacks.hpp"
#include "host/compiler/ir/text.hpp"
#include "host/compiler/passes/pass.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

std::string seed(const std::string& name) {
  std::ifstream file(std::string(WEFT_STABLEHLO_SEEDS) + "/seed_" + name, std::ios::binary);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<ir::Module> imported(const std::string& bytes) {
  return stablehlo::import_program(std::as_bytes(std::span(bytes)));
}

/// The text of a program behind the passes.
std::string text_of(const std::string& name) {
  auto module = imported(seed(name));
  if (!module.ok()) FAIL(module.error().message);
  CHECK(ir::verify(module.value()).ok());
  auto simplified = passes::run_all(std::move(module.value()));
  if (!simplified.ok()) FAIL(simplified.error().message);
  return ir::print(simplified.value());
}

}  // namespace

TEST_CASE("a program of one operator is that operator") {
  CHECK(text_of("plus_one") == R"(module "jit__lambda"
%0 = parameter() {dims = [4, 33], element = f32, name = "0"} : f32[4, 33]
%1 = constant() [1] : f32[]
%2 = broadcast_in_dim(%1) {dimensions = [], dims = [4, 33]} : f32[4, 33]
%3 = add(%0, %2) : f32[4, 33]
return "0" = %3
)");
}

TEST_CASE("every seed is taken, and loops and branches have their regions") {
  int seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_STABLEHLO_SEEDS)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("seed_")) continue;
    CAPTURE(name);
    CHECK(!text_of(name.substr(5)).empty());
    seeds++;
  }
  CHECK(seeds == 18);
  CHECK(text_of("nested_scan").find("while(") != std::string::npos);
  CHECK(text_of("switch").find("case(") != std::string::npos);
  CHECK(text_of("sort_pairs").find("sort_by(") != std::string::npos);
  CHECK(text_of("argmax").find("reduce_by(") != std::string::npos);
  CHECK(text_of("max_pool_grad").find("select_and_scatter(") != std::string::npos);
}

TEST_CASE("callbacks read each other's token in order, through loops and branches, and the program's own are nothing") {
  auto module = imported(seed("callbacks"));
  REQUIRE(module.ok());
  CHECK(ir::callbacks_of(module.value()) == ir::Dims{1, 2, 3, 4, 5});
  const std::string text = text_of("callbacks");
  CAPTURE(text);
  CHECK(text.find("%0 = parameter() {dims = [0], element = pred, name = \"0\"} : pred[0]\n") != std::string::npos);
  CHECK(text.find("} : i32[], f32[4]\n") != std::string::npos);
  const auto simplified = passes::run_all(std::move(module.value()));
  REQUIRE(simplified.ok());
  ir::ValueId token{};
  int calls = 0;
  for (const auto& op : simplified.value().ops()) {
    if (!ir::has_callback(op)) continue;
    if (calls++ > 0) CHECK(std::ranges::count(op.operands, token) >= 1);  // the program may carry it too
    token = op.kind == ir::OpKind::kCallback ? op.results[0] : op.results.back();
  }
  CHECK(calls == 4);  // one is a loop
}

TEST_CASE("a program of several devices is one of whole arrays, and tells where its arrays lie") {
  const std::string text = text_of("shard_map");
  CHECK(text.find("manual(%0, %1) {absolute = 0, ids = [0, 1, 2, 3], "
                  "places = [0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], "
                  "tiles = [2, 2, 2, 1, 1, 1]} : f32[4, 2]") != std::string::npos);
  CHECK(text.find("{combine = add, group_size = 2, groups = [0, 1, 2, 3], kind = all_reduce} : f32[2, 2]") !=
        std::string::npos);
  CHECK(text.find("{dimension = 0, group_size = 2, groups = [0, 2, 1, 3], kind = all_gather} : f32[4, 2]") !=
        std::string::npos);
  const std::string bytes = seed("shard_map");
  const auto module = imported(bytes);
  REQUIRE(module.ok());
  const auto layout = stablehlo::layout_of(std::as_bytes(std::span(bytes)), module.value(), 4);
  REQUIRE(layout.ok());
  REQUIRE(layout.value().inputs.size() == 2);
  CHECK(layout.value().inputs[0] == ir::Tiling{{2, 1}, {{0, 0}, {0, 0}, {1, 0}, {1, 0}}});
  CHECK(layout.value().inputs[1].replicated());
  CHECK(layout.value().outputs.at(0).replicated());
  const auto other = stablehlo::layout_of(std::as_bytes(std::span(bytes)), module.value(), 8);
  REQUIRE(!other.ok());
  CHECK(other.error().message == "a mesh of 4 devices in a program for 8");
}

TEST_CASE("a program tells which inputs its caller gives away, and for which outputs") {
  const auto donations = [](const std::string& bytes) {
    const auto module = imported(bytes);
    REQUIRE(module.ok());
    return stablehlo::donations_of(std::as_bytes(std::span(bytes)), module.value());
  };
  CHECK(donations(seed("shard_map")).value().empty());
  const auto donated = donations(seed("donated"));
  REQUIRE(donated.value().size() == 1);
  CHECK(donated.value()[0].input == 1);
  CHECK(donated.value()[0].output == size_t{1});
  const auto donor = donations(seed("donor"));
  REQUIRE(donor.value().size() == 1);
  CHECK(donor.value()[0].input == 0);
  CHECK(donor.value()[0].output == std::nullopt);
  const std::string bytes = seed("donated");
  const auto fewer = imported(seed("shard_map"));  // two inputs, one output
  const auto refused = stablehlo::donations_of(std::as_bytes(std::span(bytes)), fewer.value());
  REQUIRE(!refused.ok());
  CHECK(refused.error().message == "input 1 shares the place of output 1; the program has 1");
}

TEST_CASE("a program that is cut anywhere is refused") {
  const std::string name = GENERATE("argmax", "shard_map");
  const std::string whole = seed(name);
  for (size_t length = 0; length < whole.size(); length++) {
    const auto module = imported(whole.substr(0, length));
    REQUIRE(!module.ok());
    CHECK(module.error().code == WEFT_ERROR_INVALID_ARGUMENT);
    CHECK(!module.error().message.empty());
  }
}

TEST_CASE("what is no program is refused in words") {
  CHECK(imported("").error().message == "no MLIR bytecode");
  CHECK(imported("ML\xefQ\rabc").error().message == "no MLIR bytecode");
  std::string newer = seed("plus_one");
  newer[4] = 15;  // version 7
  CHECK(imported(newer).error().message == "MLIR bytecode of version 7; supported: 6");
}

TEST_CASE("an operator that is not known is refused with its version and the line of the Python program") {
  std::string program = seed("plus_one");
  const size_t at = program.find("add_v1");
  REQUIRE(at != std::string::npos);
  program[at + 5] = '9';
  const auto module = imported(program);
  REQUIRE(!module.ok());
  CHECK(module.error().message.starts_with("operator vhlo.add_v9 (programs.py:"));
  CHECK(module.error().message.ends_with("): it is not known"));
}
