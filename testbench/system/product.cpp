// Operands by seed, packed as the compiler's layouts say.
#include "testbench/system/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <span>

#include "host/compiler/layout.hpp"
#include "host/compiler/program.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "model/golden/matmul.hpp"
#include "testbench/unit/golden/random_values.hpp"

namespace weft::test {
namespace {

int8_t random_int8(RandomValues& random, Values values) {
  const uint64_t r = random.bits();
  if (values == Values::kSpecial && r % 4 != 0) return (r & 16) != 0 ? 127 : -128;
  return static_cast<int8_t>(r >> 32);
}

}  // namespace

std::string Product::name() const {
  return fmt::format("{}x{}x{} {}{}, seed {}", shape.m, shape.k, shape.n,
                     shape.dtype == WEFT_MXU_DTYPE_INT8 ? "int8" : "bf16", values == Values::kSpecial ? " special" : "",
                     seed);
}

Product make_product(const Shape& shape, Values values, uint64_t seed) {
  Product product{.shape = shape, .values = values, .seed = seed, .a16 = {}, .b16 = {}, .a8 = {}, .b8 = {}};
  RandomValues random(seed);
  const uint64_t a = shape.m * shape.k, b = shape.k * shape.n;
  if (shape.dtype == WEFT_MXU_DTYPE_INT8) {
    product.a8.resize(a), product.b8.resize(b);
    for (auto* matrix : {&product.a8, &product.b8})
      for (auto& v : *matrix) v = random_int8(random, values);
    return product;
  }
  // Few special values a matrix: a NaN in each row and column would leave nothing to compare but NaN.
  const uint64_t one_in = std::max<uint64_t>(4, shape.k);
  product.a16.resize(a), product.b16.resize(b);
  for (auto* matrix : {&product.a16, &product.b16})
    for (auto& v : *matrix)
      v = values == Values::kSpecial && random.below(one_in) == 0 ? random.bf16() : random.finite_bf16();
  if (values == Values::kSpecial) {
    // One special value for sure, in one row of A.
    product.a16[random.below(a)] = RandomValues::kSpecial[random.below(std::size(RandomValues::kSpecial))];
  }
  return product;
}

std::vector<Product> random_products(size_t count, uint64_t largest, uint64_t seed, Sizes sizes) {
  std::mt19937_64 random(seed);
  std::vector<Product> products;
  for (size_t i = 0; i < count; i++) {
    // Every fifth is drawn evenly: so these are of both types, with special values and without.
    const bool even = sizes == Sizes::kEven || i % 5 == 0;
    const auto size = [&] {
      const uint64_t limit = even ? largest : std::min(largest, uint64_t{2} << random() % std::bit_width(largest));
      return 1 + random() % limit;
    };
    const uint64_t m = size(), k = size(), n = size();
    const Shape shape{i % 2 == 0 ? WEFT_MXU_DTYPE_BF16 : WEFT_MXU_DTYPE_INT8, m, k, n};
    products.push_back(make_product(shape, i % 3 == 0 ? Values::kSpecial : Values::kFinite, seed * 1000 + i));
  }
  return products;
}

Result<std::vector<std::byte>> product_executable(const spec::Chip& chip, const Shape& shape) {
  const auto program = compiler::gemm_program(chip, shape.dtype, shape.m, shape.k, shape.n);
  if (!program.ok()) return program.error();
  const auto kernel = compiler::tiles::compile_fitting(chip, program.value());
  if (!kernel.ok()) return kernel.error();
  return compiler::write_executable(chip, kernel.value());
}

Result<ProductRun> run_product(runtime::Session& session, const Product& product) {
  const auto& [dtype, m, k, n] = product.shape;
  const spec::Chip& chip = session.chip();
  const auto executable = product_executable(chip, product.shape);
  if (!executable.ok()) return executable.error();
  if (auto status = session.load(executable.value()); !status.ok()) return status.error();
  std::vector<std::vector<std::byte>> arguments(3);
  if (dtype == WEFT_MXU_DTYPE_INT8) {
    arguments[0] = compiler::pack_rows(std::as_bytes(std::span(product.a8)), m, k, 1);
    arguments[1] = compiler::pack_weights_int8(chip, product.b8, k, n);
  } else {
    arguments[0] = compiler::pack_rows(std::as_bytes(std::span(product.a16)), m, k, 2);
    arguments[1] = compiler::pack_weights_bf16(chip, product.b16, k, n);
  }
  ProductRun run;
  const auto outputs = session.run(arguments, run.launch);
  if (!outputs.ok()) return outputs.error();
  const auto c = compiler::unpack_rows(outputs.value()[2], m, n, 4);
  run.c.resize(m * n);
  std::memcpy(run.c.data(), c.data(), c.size());
  return run;
}

std::vector<uint32_t> golden_product(const Product& product) {
  const auto& [dtype, m, k, n] = product.shape;
  std::vector<uint32_t> bits(m * n);
  if (dtype == WEFT_MXU_DTYPE_INT8) {
    std::vector<int32_t> c(m * n);
    (void)golden::gemm_int8(m, k, n, product.a8.data(), k, product.b8.data(), n, c.data(), n);
    std::memcpy(bits.data(), c.data(), 4 * c.size());
  } else {
    std::vector<float> c(m * n);
    golden::gemm_bf16(m, k, n, product.a16.data(), k, product.b16.data(), n, c.data(), n);
    std::memcpy(bits.data(), c.data(), 4 * c.size());
  }
  return bits;
}

Difference compare_bits(const Product& product, const std::vector<uint32_t>& got,
                        const std::vector<uint32_t>& expected) {
  const uint64_t elements = product.shape.m * product.shape.n;
  if (elements == 0 || got.size() != elements || expected.size() != elements)
    return {std::max<uint64_t>(elements, 1),
            fmt::format("{} and {} elements cannot be compared, {} are due", got.size(), expected.size(), elements)};
  Difference difference;
  for (size_t i = 0; i < got.size(); i++) {
    if (got[i] == expected[i]) continue;
    if (difference.differing++ == 0)
      difference.first = fmt::format("row {}, column {}: {:#010x}, expected {:#010x}", i / product.shape.n,
                                     i % product.shape.n, got[i], expected[i]);
  }
  return difference;
}

}  // namespace weft::test
