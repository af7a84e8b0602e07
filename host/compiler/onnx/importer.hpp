/// Reads an ONNX model into L1.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "host/compiler/ir/module.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::frontend {

/// How many products of bf16 stand for one of f32 (docs/numerics.md): 1, 3 or 6.
enum class Precision : uint8_t { kBf16, kBf16x3, kBf16x6 };
/// Of "bf16", "bf16x3" or "bf16x6"; nothing: another word.
[[nodiscard]] std::optional<Precision> precision_of(std::string_view name);

/// What is known of a model's inputs when it is compiled, and how its products are computed.
struct Binding {
  std::map<std::string, ir::Dims> shapes;       ///< of inputs
  std::map<std::string, ir::TensorPtr> values;  ///< of inputs; used where a value decides a shape or a branch
  std::map<std::string, int64_t> symbols;       ///< of dimensions, by name
  int64_t first = 0;                            ///< any other symbolic first dimension; 0: an error
  Precision precision = Precision::kBf16;       ///< of products and convolutions of f32
};

struct Imported {
  ir::Module module;
  std::set<std::string> decided_by;  ///< inputs whose values have decided shapes or branches: it serves no others
};

/// The standard operators of opsets 6 to 23, local functions, If, Loop and Scan (unrolled), and initializers of every
/// type of L1, those beside the model in files of `folder` (empty: none) and below it. The module keeps ir::verify().
/// INVALID_ARGUMENT: no ONNX model, one that breaks ONNX's rules, or one whose shapes depend on what is not bound.
/// UNSUPPORTED: an operator, attribute or type that is not built. The message names node and operator, or the tensor,
/// and what is supported.
[[nodiscard]] Result<Imported> import_model(std::span<const std::byte> file, const std::string& folder,
                                            const Binding& binding);

}  // namespace weft::compiler::frontend
