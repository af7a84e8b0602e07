/// Matrix products of the system tests and benches: seeded operands, a run through an open session, what golden says.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"
#include "host/runtime/session.hpp"
#include "weft/spec/chips.hpp"

namespace weft::test {

/// kFinite: numbers near 1 (int8: any). kSpecial: NaN, infinities, subnormals, zeros of both signs and the largest
/// numbers among them (int8: mostly -128 and 127).
enum class Values : uint8_t { kFinite, kSpecial };

struct Shape {
  weft_mxu_dtype dtype;
  uint64_t m, k, n;
};

/// Operands of C = A B, row-major; made from the seed alone, so that a failure is run again from its line.
struct Product {
  Shape shape{};
  Values values = Values::kFinite;
  uint64_t seed = 0;
  std::vector<uint16_t> a16, b16;  ///< bf16
  std::vector<int8_t> a8, b8;

  /// "37x120x5 bf16 special, seed 12"
  [[nodiscard]] std::string name() const;
};

[[nodiscard]] Product make_product(const Shape& shape, Values values, uint64_t seed);

/// How M, K and N are drawn.
enum class Sizes {
  kEven,       ///< each size from 1 to the largest is as likely as another
  kMostSmall,  ///< in four products of five, each size lies below a power of two that is drawn first: few elements, many
               ///< edges of tiles
};

/// Shapes with M, K and N from 1 to `largest`, bf16 and int8 in turn, special values in one of three.
[[nodiscard]] std::vector<Product> random_products(size_t count, uint64_t largest, uint64_t seed,
                                                   Sizes sizes = Sizes::kEven);

struct ProductRun {
  std::vector<uint32_t> c;  ///< bits of C, row-major
  runtime::LaunchResult launch;
  [[nodiscard]] uint64_t cycles() const { return launch.end_cycle - launch.start_cycle; }
};

/// Compiles for the session's chip, loads, runs. Any error of compiler or driver.
[[nodiscard]] Result<ProductRun> run_product(runtime::Session& session, const Product& product);

/// The executable that run_product() loads.
[[nodiscard]] Result<std::vector<std::byte>> product_executable(const spec::Chip& chip, const Shape& shape);

/// Bits of C by the golden model.
[[nodiscard]] std::vector<uint32_t> golden_product(const Product& product);

struct Difference {
  uint64_t differing = 0;
  std::string first;  ///< "row 3, column 17: 0x3f800000, expected 0x3f800001"; empty if nothing differs
};

/// Compares bit for bit. A result of the wrong length differs in all elements.
[[nodiscard]] Difference compare_bits(const Product& product, const std::vector<uint32_t>& got,
                                      const std::vector<uint32_t>& expected);

}  // namespace weft::test
