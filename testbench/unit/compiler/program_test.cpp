// Compiled products against golden, in random orders of execution.
#include "host/compiler/program.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "host/compiler/layout.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "model/golden/matmul.hpp"
#include "model/golden/rows.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

using namespace weft;

namespace {

std::vector<std::byte> bytes_of(const void* data, size_t size) {
  const auto* p = static_cast<const std::byte*>(data);
  return {p, p + size};
}

enum class Way : uint8_t { kStreamed, kFitting };

Result<compiler::Kernel> compile(Way way, const spec::Chip& chip, const compiler::Program& program) {
  return way == Way::kStreamed ? compiler::tiles::compile_spilled(chip, program)
                               : compiler::tiles::compile_fitting(chip, program);
}

/// Compiles, runs and compares one bf16 product; the number of elements that differ.
int64_t check_bf16(Way way, const spec::Chip& chip, uint64_t m, uint64_t k, uint64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint16_t> a(m * k), b(k * n);
  for (auto& v : a) v = static_cast<uint16_t>(0x3c00 + random() % 0x0400 + (random() % 2 << 15));
  for (auto& v : b) v = static_cast<uint16_t>(0x3c00 + random() % 0x0400 + (random() % 2 << 15));
  auto program = compiler::gemm_program(chip, WEFT_MXU_DTYPE_BF16, m, k, n);
  REQUIRE(program.ok());
  auto kernel = compile(way, chip, program.value());
  if (!kernel.ok()) FAIL(kernel.error().message);
  const auto& arguments = program.value().arguments;
  test::ProgramExecutor executor(
      chip, kernel.value(),
      {compiler::pack_rows(bytes_of(a.data(), a.size() * 2), m, k, 2), compiler::pack_weights_bf16(chip, b, k, n),
       std::vector<std::byte>(arguments[2].size_bytes, std::byte{0x77})},
      seed);
  const std::string error = executor.run();
  INFO(error << " for " << m << " x " << k << " x " << n << " on " << chip.name << ", seed " << seed);
  REQUIRE(error.empty());
  const auto c = compiler::unpack_rows(executor.argument(2, arguments[2].size_bytes), m, n, 4);
  std::vector<float> expected(m * n);
  golden::gemm_bf16(m, k, n, a.data(), k, b.data(), n, expected.data(), n);
  REQUIRE((m * n > 0 && c.size() == 4 * m * n));
  int64_t differing = 0;
  for (uint64_t i = 0; i < m * n; i++) differing += std::memcmp(&c[i * 4], &expected[i], 4) != 0;
  return differing;
}

int64_t check_bf16(const spec::Chip& chip, uint64_t m, uint64_t k, uint64_t n, uint64_t seed) {
  return check_bf16(Way::kStreamed, chip, m, k, n, seed) + check_bf16(Way::kFitting, chip, m, k, n, seed);
}

spec::Chip with_vmem(const spec::Chip& chip, uint64_t words) {
  spec::Chip small = chip;
  small.vmem_words = static_cast<unsigned>(words);
  small.vmem_bytes = words * chip.word_bytes;
  return small;
}

}  // namespace

TEST_CASE("a compiled bf16 product equals golden for random shapes and any order that its semaphores allow") {
  const uint64_t seed = 20261121;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 60; i++) {
    const uint64_t m = 1 + random() % 90, k = 1 + random() % 150, n = 1 + random() % 90;
    CHECK(check_bf16(*spec::find_chip("nano"), m, k, n, seed + static_cast<uint64_t>(i)) == 0);
  }
}

TEST_CASE("a compiled product equals golden when neither K nor the weights fit VMEM") {
  for (const uint64_t words : {640u, 900u, 1400u, 3000u}) {
    const auto chip = with_vmem(*spec::find_chip("nano"), words);
    CHECK(check_bf16(chip, 70, 333, 41, words) == 0);
    CHECK(check_bf16(chip, 3, 800, 100, words) == 0);
    CHECK(check_bf16(chip, 130, 64, 200, words) == 0);
  }
}

TEST_CASE("a product on the boundaries of the array equals golden on every preset") {
  for (const auto& chip : spec::kChips)
    for (const uint64_t m : {uint64_t{1}, uint64_t{chip.n} - 1, uint64_t{chip.n}, uint64_t{chip.n} + 1,
                             uint64_t{2} * chip.n, uint64_t{3} * chip.n + 1})
      CHECK(check_bf16(chip, m, chip.n + 1, chip.n + 1, m) == 0);
}

TEST_CASE("a compiled int8 product equals golden, odd K included") {
  const auto& chip = *spec::find_chip("nano");
  std::mt19937_64 random(7);
  for (int i = 0; i < 60; i++) {
    const uint64_t m = 1 + random() % 70, k = 1 + random() % 150, n = 1 + random() % 50;
    std::vector<int8_t> a(m * k), b(k * n);
    for (auto& v : a) v = static_cast<int8_t>(random());
    for (auto& v : b) v = static_cast<int8_t>(random());
    auto program = compiler::gemm_program(chip, WEFT_MXU_DTYPE_INT8, m, k, n);
    REQUIRE(program.ok());
    auto kernel = compile(i % 2 == 0 ? Way::kStreamed : Way::kFitting, chip, program.value());
    REQUIRE(kernel.ok());
    const auto& arguments = program.value().arguments;
    test::ProgramExecutor executor(
        chip, kernel.value(),
        {compiler::pack_rows(bytes_of(a.data(), a.size()), m, k, 1), compiler::pack_weights_int8(chip, b, k, n),
         std::vector<std::byte>(arguments[2].size_bytes)},
        random());
    REQUIRE(executor.run().empty());
    const auto c = compiler::unpack_rows(executor.argument(2, arguments[2].size_bytes), m, n, 4);
    std::vector<int32_t> expected(m * n);
    (void)golden::gemm_int8(m, k, n, a.data(), k, b.data(), n, expected.data(), n);
    CHECK(std::memcmp(c.data(), expected.data(), c.size()) == 0);
  }
}

TEST_CASE("a product that fits VMEM stays in it, of bf16 and of int8") {
  const auto& chip = *spec::find_chip("nano");
  for (const weft_mxu_dtype dtype : {WEFT_MXU_DTYPE_BF16, WEFT_MXU_DTYPE_INT8})
    CHECK(compiler::tiles::compile_resident(chip, compiler::gemm_program(chip, dtype, 64, 65, 64).value()).ok());
}

TEST_CASE("a product that stands in its queue while an elementwise step loads does not take the step's posts") {
  const auto& chip = *spec::find_chip("nano");
  const uint64_t rows = 9, k = 40, n = 8;  // the product's first MATMUL needs two loads, as the elementwise step does
  std::mt19937_64 random(1);
  const auto draw = [&random](uint64_t count) {
    std::vector<uint16_t> values(count);
    for (auto& v : values) v = static_cast<uint16_t>(0x3c00 + random() % 0x0400);
    return values;
  };
  const auto a = draw(rows * k), b = draw(rows * k), w = draw(k * n);
  const uint64_t pitch = compiler::row_pitch_bytes(k, 2), y_pitch = compiler::row_pitch_bytes(n, 4);
  const uint64_t weight_bytes = compiler::packed_weight_bytes(chip, WEFT_MXU_DTYPE_BF16, k, n);
  compiler::Program program;
  program.name = "add and multiply";
  const auto argument = [&](const char* name, weft_argument_direction direction, uint64_t bytes) {
    program.arguments.push_back(
        {name, WEFT_ARGUMENT_DTYPE_BF16, WEFT_ARGUMENT_LAYOUT_ROWS, direction, 1, bytes / 2, bytes, bytes});
  };
  argument("a", WEFT_ARGUMENT_DIRECTION_INPUT, rows * pitch);
  argument("b", WEFT_ARGUMENT_DIRECTION_INPUT, rows * pitch);
  argument("w", WEFT_ARGUMENT_DIRECTION_INPUT, weight_bytes);
  argument("y", WEFT_ARGUMENT_DIRECTION_OUTPUT, rows * y_pitch);
  compiler::VectorStep add;
  add.name = "add";
  add.rows = rows, add.cols = k;
  add.a = {3, 0, pitch}, add.b = {4, 0, pitch}, add.y = {2, 0, pitch};
  compiler::DenseStep product;
  product.name = "product";
  product.m = rows, product.k = k, product.n = n;
  product.x = add.y, product.weights = {5, 0, 0}, product.y = {6, 0, y_pitch};
  program.steps = {add, product};
  program.scratch_bytes = rows * pitch;
  const auto kernel = compiler::tiles::compile_spilled(chip, program);
  REQUIRE(kernel.ok());
  std::vector<uint16_t> sum(a.size());
  golden::elementwise_bf16(WEFT_VPU_OP_ADD, a, b, sum);
  std::vector<float> expected(rows * n);
  golden::gemm_bf16(rows, k, n, sum.data(), k, w.data(), n, expected.data(), n);
  for (uint64_t seed = 1; seed <= 20; seed++) {
    test::ProgramExecutor executor(chip, kernel.value(),
                                   {compiler::pack_rows(bytes_of(a.data(), a.size() * 2), rows, k, 2),
                                    compiler::pack_rows(bytes_of(b.data(), b.size() * 2), rows, k, 2),
                                    compiler::pack_weights_bf16(chip, w, k, n), std::vector<std::byte>(rows * y_pitch)},
                                   seed);
    CHECK(executor.run() == "");
    const auto y = compiler::unpack_rows(executor.argument(3, rows * y_pitch), rows, n, 4);
    CHECK(std::memcmp(y.data(), expected.data(), y.size()) == 0);
  }
}

TEST_CASE("a VMEM that cannot hold the smallest tiling is refused with both sizes") {
  const auto chip = with_vmem(*spec::find_chip("nano"), 128);
  auto program = compiler::gemm_program(chip, WEFT_MXU_DTYPE_BF16, 64, 64, 64);
  const auto kernel = compiler::tiles::compile_fitting(chip, program.value());
  REQUIRE(!kernel.ok());
  CHECK(kernel.error().code == WEFT_ERROR_NO_DEVICE_MEMORY);
  CHECK(kernel.error().message.find("2048") != std::string::npos);
}

TEST_CASE("a product with a dimension of zero is refused by name") {
  const auto program = compiler::gemm_program(*spec::find_chip("nano"), WEFT_MXU_DTYPE_BF16, 4, 0, 4);
  REQUIRE(!program.ok());
  CHECK(program.error().message == "a product of 4 x 0 x 4: every dimension must be at least 1");
}
