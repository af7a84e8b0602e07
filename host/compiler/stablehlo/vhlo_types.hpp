/// The numbers that bytecode has for types and attributes.
#pragma once
#include <cstdint>
#include <optional>

#include "host/compiler/ir/element_type.hpp"

namespace weft::compiler::stablehlo {

namespace vhlo {

/// Of types.
enum TypeCode : uint64_t {
  kBoolean1 = 0,
  kComplex = 1,
  kBf16 = 2,
  kF16 = 3,
  kF32 = 4,
  kF64 = 5,
  kFunction = 8,
  kIndex = 9,
  kI8 = 11,
  kI16 = 12,
  kI32 = 13,
  kI64 = 14,
  kU8 = 16,
  kU16 = 17,
  kU32 = 18,
  kU64 = 19,
  kRankedTensor = 20,
  kRankedTensorWithEncoding = 21,
  kToken = 22,
};

/// Of attributes.
enum AttributeCode : uint64_t {
  kArray = 1,
  kBoolean = 2,
  kComparisonDirection = 3,
  kComparisonType = 4,
  kCustomCallApiVersion = 5,
  kDictionary = 6,
  kFftType = 7,
  kFloat = 8,
  kInteger = 9,
  kPrecision = 11,
  kRngAlgorithm = 12,
  kRngDistribution = 13,
  kString = 14,
  kTensorAttribute = 15,
  kTranspose = 16,
  kTypeAttribute = 17,
};

/// The type of L1; none: L1 has no such elements (complex, 4 bits, 8 bits of float).
[[nodiscard]] std::optional<ir::ElementType> element_of(uint64_t code);
/// The bits of an element type; 0: it is none.
[[nodiscard]] uint32_t bits_of(uint64_t code);
/// What the user calls it: "complex", "i4".
[[nodiscard]] const char* name_of_type(uint64_t code);
/// A float by its bits; NaN if the type is none of L1's floats.
[[nodiscard]] double float_of(uint64_t code, uint64_t bits);

}  // namespace vhlo

namespace builtin {

enum TypeCode : uint64_t { kRankedTensor = 13 };
enum AttributeCode : uint64_t {
  kArray = 0,
  kDictionary = 1,
  kString = 2,
  kTypedString = 3,
  kSymbol = 4,
  kType = 6,
  kUnit = 7,
  kCallSite = 10,
  kFileLine = 11,
  kFused = 12,
  kNamed = 14,
  kFileLineRange = 22,
};

}  // namespace builtin

/// Shardy's dialect.
namespace sdy {

enum AttributeCode : uint64_t {
  kManualAxes = 0,
  kMeshAxis = 1,
  kMesh = 2,
  kAxis = 4,
  kDimension = 5,
  kSharding = 6,
  kShardings = 7,
  kUnreducedSharding = 15,
  kUnreducedShardings = 16,
};

}  // namespace sdy
}  // namespace weft::compiler::stablehlo
