// Element types by their numbers.
#include "host/compiler/stablehlo/vhlo_types.hpp"

#include <array>
#include <bit>
#include <limits>

namespace weft::compiler::stablehlo::vhlo {
namespace {

struct ElementInfo {
  uint64_t code;
  const char* name;
  uint32_t bits;
  std::optional<ir::ElementType> element;
};

using ir::ElementType;
constexpr std::array kElements{ElementInfo{kBoolean1, "i1", 1, ElementType::kPred},
                               ElementInfo{kComplex, "complex", 64, std::nullopt},
                               ElementInfo{kBf16, "bf16", 16, ElementType::kBf16},
                               ElementInfo{kF16, "f16", 16, ElementType::kF16},
                               ElementInfo{kF32, "f32", 32, ElementType::kF32},
                               ElementInfo{kF64, "f64", 64, ElementType::kF64},
                               ElementInfo{6, "f8E4M3FN", 8, std::nullopt},
                               ElementInfo{7, "f8E5M2", 8, std::nullopt},
                               ElementInfo{kIndex, "index", 64, std::nullopt},
                               ElementInfo{10, "i4", 4, std::nullopt},
                               ElementInfo{kI8, "i8", 8, ElementType::kI8},
                               ElementInfo{kI16, "i16", 16, ElementType::kI16},
                               ElementInfo{kI32, "i32", 32, ElementType::kI32},
                               ElementInfo{kI64, "i64", 64, ElementType::kI64},
                               ElementInfo{15, "ui4", 4, std::nullopt},
                               ElementInfo{kU8, "ui8", 8, ElementType::kU8},
                               ElementInfo{kU16, "ui16", 16, ElementType::kU16},
                               ElementInfo{kU32, "ui32", 32, ElementType::kU32},
                               ElementInfo{kU64, "ui64", 64, ElementType::kU64},
                               ElementInfo{27, "f8E4M3FNUZ", 8, std::nullopt},
                               ElementInfo{28, "f8E5M2FNUZ", 8, std::nullopt},
                               ElementInfo{29, "f8E4M3B11FNUZ", 8, std::nullopt},
                               ElementInfo{31, "i2", 2, std::nullopt},
                               ElementInfo{32, "ui2", 2, std::nullopt}};

const ElementInfo* find(uint64_t code) {
  for (const auto& info : kElements)
    if (info.code == code) return &info;
  return nullptr;
}

}  // namespace

std::optional<ElementType> element_of(uint64_t code) {
  const auto* info = find(code);
  return info == nullptr ? std::nullopt : info->element;
}

uint32_t bits_of(uint64_t code) {
  const auto* info = find(code);
  return info == nullptr ? 0 : info->bits;
}

const char* name_of_type(uint64_t code) {
  const auto* info = find(code);
  return info == nullptr ? "a type that is not known" : info->name;
}

double float_of(uint64_t code, uint64_t bits) {
  switch (code) {
    case kF64:
      return std::bit_cast<double>(bits);
    case kF32:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case kBf16: {
      ir::Bf16 value;
      value.bits = static_cast<uint16_t>(bits);
      return static_cast<double>(value);
    }
    case kF16: {
      ir::F16 value;
      value.bits = static_cast<uint16_t>(bits);
      return static_cast<double>(value);
    }
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace weft::compiler::stablehlo::vhlo
