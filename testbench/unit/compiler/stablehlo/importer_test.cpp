// StableHLO programs as jaxlib writes them (testbench/fuzz/corpora/stablehlo): taken, and refused for what is wrong
// with them. What they compute is compared with JAX on the CPU by testbench/jax.
#include "host/compiler/stablehlo/importer.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

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
  CHECK(seeds == 14);
  CHECK(text_of("nested_scan").find("while(") != std::string::npos);
  CHECK(text_of("switch").find("case(") != std::string::npos);
  CHECK(text_of("sort_pairs").find("sort_by(") != std::string::npos);
  CHECK(text_of("argmax").find("reduce_by(") != std::string::npos);
  CHECK(text_of("max_pool_grad").find("select_and_scatter(") != std::string::npos);
}

TEST_CASE("a program that is cut anywhere is refused") {
  const std::string whole = seed("argmax");
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
