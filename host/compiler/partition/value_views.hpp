/// Values of L1 as elements of a graph's tensors: what only moves elements is kept as where they come from until an
/// operator reads them.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler {

/// The constant behind a value, or behind what moves its elements, or what counts; null: it is computed.
[[nodiscard]] const ir::Op* constant_behind(const ir::Module& module, ir::ValueId value);

/// A value that constant_behind() finds.
[[nodiscard]] ir::TensorPtr constant_tensor_of(const ir::Module& module, ir::ValueId value);

/// All elements of a value that constant_behind() finds, of f32 or pred.
[[nodiscard]] std::vector<float> constant_values(const ir::Module& module, ir::ValueId value);
/// The same of a value of integers, as words.
[[nodiscard]] std::vector<int32_t> constant_integers(const ir::Module& module, ir::ValueId value);
/// The row of f32 or pred that an operator repeats as all rows of such a value; nothing: another one has made it.
[[nodiscard]] std::optional<std::vector<float>> repeated_row(const ir::Module& module, ir::ValueId value);

/// Whether all rows of such a value, as matrix_shape() has them, are equal.
[[nodiscard]] bool same_in_rows(const ir::Module& module, ir::ValueId value);

/// i32 or u32: a word of 32 bits, which device programs have as i32.
[[nodiscard]] constexpr bool is_word(ir::ElementType type) {
  return type == ir::ElementType::kI32 || type == ir::ElementType::kU32;
}

/// Integers of fewer bits, which device programs have as i32 too, or packed as i8 for products.
[[nodiscard]] constexpr bool is_narrow(ir::ElementType type) {
  return type == ir::ElementType::kI8 || type == ir::ElementType::kU8 || type == ir::ElementType::kI16 ||
         type == ir::ElementType::kU16;
}
/// Whether an element is a word of i32 in a device program.
[[nodiscard]] constexpr bool lies_as_i32(ir::ElementType type) { return is_word(type) || is_narrow(type); }

/// Operators of the vector unit, element by element.
[[nodiscard]] bool is_elementwise_kind(ir::OpKind kind);

/// How many of the first operands an operator moves elements of, which does nothing else; 0: it does something else.
/// Its other operands tell where to.
[[nodiscard]] size_t data_operands(const ir::Op& op);

/// Whether an operator moves elements to places that are known: no other operand of it is computed.
[[nodiscard]] bool moves_to_known_places(const ir::Module& module, const ir::Op& op);

/// Elements of the last dimensions, as few as are more than one.
[[nodiscard]] uint64_t last_columns(const ir::Dims& dims);

using ElementMap = std::shared_ptr<const std::vector<uint32_t>>;

/// For each element of the result of an operator that moves elements, which element it is of its data operands one
/// behind the other.
[[nodiscard]] std::vector<uint32_t> moved_from(const ir::Module& module, const ir::Op& op);

/// Element i of the value is element from[i] of the tensors one behind the other; without `from` the elements of the
/// only tensor in their order.
struct ValueView {
  std::vector<size_t> tensors;
  ElementMap from;
};

/// The order of a tensor's elements when its dimensions are put in the order `dims`: element i of the result is element
/// [i] of the tensor.
[[nodiscard]] std::vector<uint32_t> permuted(const ir::Dims& sizes, const std::vector<size_t>& dims);

}  // namespace weft::compiler
