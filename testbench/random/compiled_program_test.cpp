// Compiled programs on the RTL and the fast core, and what a comparison of two runs sees.
#include "testbench/random/compiled_program.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "testbench/random/program_runner.hpp"
#include "testbench/random/run_record.hpp"

namespace {

using namespace weft;
using namespace weft::random;
using Kind = LayerRecipe::Kind;

const spec::Chip& nano() { return *spec::find_chip("nano"); }

LayerRecipe product(uint64_t m, uint64_t k, uint64_t n) {
  LayerRecipe layer;
  layer.rows = m, layer.inner = k, layer.cols = n;
  layer.narrow = layer.chained = true;
  return layer;
}

Recipe recipe_of(std::vector<LayerRecipe> layers) {
  Recipe recipe;
  recipe.chip = &nano();
  recipe.data_seed = 5;
  recipe.layers = std::move(layers);
  return recipe;
}

/// The product that took 51,988 cycles on the RTL and 51,652 on the fast core: its bias waits for weights' loads, and
/// its epilogues meet the MXU in VMEM.
Recipe wide_product() {
  auto wide = product(2, 64, 3000);
  wide.bias = true;
  wide.narrow = false;
  return recipe_of({wide});
}

RunRecord small_record() {
  RunRecord record;
  record.events = {{false, WEFT_UNIT_VPU, 3, 10}, {true, WEFT_UNIT_VPU, 3, 20}};
  record.end_cycle = 22;
  record.registers.assign(8, 0);
  record.counters.assign(WEFT_COUNTERS, 0);
  record.vmem.resize(16), record.acc.resize(16), record.memory.resize(16);
  return record;
}

}  // namespace

TEST_CASE("a recipe gives the same program each time, and its file the same again") {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    std::string error;
    const Recipe recipe = draw_recipe(nano(), seed);
    const auto program = make_program(recipe, error), again = make_program(draw_recipe(nano(), seed), error);
    INFO(recipe_text(recipe) << ": " << error);
    REQUIRE(program);
    CHECK(program->commands == again->commands);
    std::istringstream text(program_text(*program));
    const auto back = parse_program(text, error);
    REQUIRE(back);
    CHECK(back->commands == program->commands);
    CHECK(back->hbm_bytes == program->hbm_bytes);
    CHECK(back->plain_data);
  }
}

TEST_CASE("2,000 recipes reach products of many tiles, of K in chunks, rings that wrap, and every kind of step") {
  uint64_t wide = 0, deep = 0, wraps = 0;
  std::array<uint64_t, 5> kinds{};
  std::array<uint64_t, 4> forms{};
  for (uint64_t seed = 1; seed <= 2000; seed++) {
    const Recipe recipe = draw_recipe(nano(), seed);
    forms.at(static_cast<size_t>(recipe.form))++;
    for (const LayerRecipe& layer : recipe.layers) {
      kinds.at(static_cast<size_t>(layer.kind))++;
      if (layer.kind != Kind::kProduct) continue;
      const uint64_t tiles = (layer.cols + nano().n - 1) / nano().n * ((layer.inner + nano().n - 1) / nano().n);
      wide += layer.cols >= 1000;
      deep += layer.inner >= 500;
      wraps += tiles >= 4 * 24;  // semaphores that tell of loads
    }
  }
  CHECK(wide > 20);
  CHECK(deep > 20);
  CHECK(wraps > 100);
  for (const uint64_t count : kinds) CHECK(count > 100);
  for (const uint64_t count : forms) CHECK(count > 30);
}

TEST_CASE("products and chains that once differed take the same cycles on the RTL and the fast core") {
  auto add = product(16, 1, 40);
  add.kind = Kind::kVector;
  add.op = WEFT_VPU_OP_ADD, add.b_mode = WEFT_VPU_B_MODE_TENSOR, add.narrow_input = true;
  auto last = product(13, 64, 9);
  last.narrow = false, last.bias = last.relu = true;
  for (const Recipe& recipe :
       {wide_product(), recipe_of({product(13, 65, 17), last}), recipe_of({product(13, 50, 64), add, last})}) {
    std::string error;
    const auto program = make_program(recipe, error);
    INFO(recipe_text(recipe) << error);
    REQUIRE(program);
    const Verdict verdict = compare(*program, Comparison::kCores);
    INFO(verdict.report);
    CHECK(verdict.passed);
    CHECK(verdict.commands == program->commands.size());
  }
}

TEST_CASE("what is in HBM before and after a run is what the program's maker says, or the run fails") {
  std::string error;
  auto program = make_program(recipe_of({product(4, 8, 8)}), error);
  REQUIRE(program);
  const auto y = static_cast<uint64_t>(program->segments[5].base);
  // x is zero, and so is y, in bf16.
  program->contents = {{program->segments[3].base, std::vector<std::byte>(4 * 64)}};
  program->results = {{y, std::vector<std::byte>(16)}};
  const Verdict right = run_program(*program, core::CoreKind::kFast);
  INFO(right.report);
  CHECK(right.passed);
  program->results[0].bytes[5] = std::byte{1};
  const Verdict wrong = run_program(*program, core::CoreKind::kFast);
  CHECK_FALSE(wrong.passed);
  CHECK(wrong.report.find("0x00, and 0x01 is expected") != std::string::npos);
}

TEST_CASE("a compiled failure is shrunk to one step of small sizes") {
  const auto stores_bf16 = [](const Program& p) {
    return std::ranges::any_of(p.commands, [](const auto& c) {
      return c.command.bytes[0] == WEFT_OPCODE_EPILOGUE && spec::decode_vpu(c.command).dst_dtype == WEFT_VPU_DTYPE_BF16;
    });
  };
  const Recipe small = shrink_recipe(recipe_of({product(13, 65, 17), product(13, 17, 40)}), stores_bf16);
  REQUIRE(small.layers.size() == 1);
  CHECK(small.layers[0].rows == 1);
  CHECK(small.layers[0].inner == 1);
  CHECK(small.layers[0].cols == 1);
}

TEST_CASE("a difference in any cycle, register, counter or byte is told, and two runs of nothing are not equal") {
  RunRecord record = small_record();
  record.core = "the RTL";
  CHECK(first_difference(record, record).empty());
  const auto differs = [&](const auto& change, const char* what) {
    RunRecord other = record;
    other.core = "the fast core";
    change(other);
    INFO(what);
    CHECK(first_difference(record, other).find(what) != std::string::npos);
  };
  differs([](RunRecord& r) { r.events[1].cycle++; }, "vpu retires tag 3 in cycle 21");
  differs([](RunRecord& r) { r.events.pop_back(); }, "fast core: nothing");
  differs([](RunRecord& r) { r.events.push_back({true, WEFT_UNIT_MXU, 9, 30}); }, "mxu retires tag 9");
  differs([](RunRecord& r) { r.registers[7] = 2; }, "FAULT_COUNT is 0x0 on the RTL, 0x2 on the fast core");
  differs([](RunRecord& r) { r.end_cycle++; }, "the first idle cycle is 22 on the RTL, 23 on the fast core");
  differs([](RunRecord& r) { r.counters[WEFT_COUNTER_VPU_STALLED] = 5; }, "vpu_stalled is 0 on the RTL, 5");
  differs([](RunRecord& r) { r.acc[7] = std::byte{1}; }, "ACC byte 0x7");
  differs([](RunRecord& r) { r.memory.clear(); }, "the bytes of memory are 16 on the RTL, 0");
  RunRecord nothing = record;
  nothing.events.clear();
  CHECK_FALSE(first_difference(nothing, nothing).empty());
  nothing.registers[4] = WEFT_FAULT_ILLEGAL_OPCODE;  // the first command was refused
  CHECK(first_difference(nothing, nothing).empty());
}
