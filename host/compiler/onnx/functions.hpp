/// What several families of operators are made of. Private to the importer.
#pragma once
#include "host/compiler/onnx/node.hpp"

namespace weft::compiler::frontend {

[[nodiscard]] ValueId softmax(Builder& b, ValueId x, size_t axis);
[[nodiscard]] ValueId log_softmax(Builder& b, ValueId x, size_t axis);

enum class Extreme : uint8_t { kMaximum, kMinimum };
enum class Tie : uint8_t { kFirst, kLast };
/// The index of the largest or smallest element of an axis, i64, the axis with one element. The first NaN is either.
[[nodiscard]] ValueId arg_extreme(Builder& b, ValueId x, size_t axis, Extreme extreme, Tie tie);

/// Negative indices count from the end of a dimension of `size`; the result has the type `element`.
[[nodiscard]] ValueId wrap_indices(Builder& b, ValueId indices, int64_t size, ElementType element = ElementType::kI64);

/// Whether x is a table in memory, whose rows a device reads by indices of i32.
[[nodiscard]] bool is_table(const Builder& b, ValueId x);
/// Rows of x by their numbers. A number outside of x is clamped to its first or last row, as a gather does it.
[[nodiscard]] ValueId take_rows(Builder& b, ValueId x, ValueId rows);

/// Matrix product by NumPy's rules: leading dimensions are batches and broadcast. Sums have type `sums`.
[[nodiscard]] ValueId matmul(Builder& b, ValueId x, ValueId y, ElementType sums);

/// (x - mean) / sqrt(variance + epsilon) over these dimensions, and what it divides by.
struct Normalized {
  ValueId value, mean, inverse;
};
[[nodiscard]] Normalized normalize(Builder& b, ValueId x, const Dims& dimensions, double epsilon);

/// Where windows lie: of a convolution or a pooling.
struct WindowPads {
  Dims low, high;
};
/// By the attributes auto_pad and pads. `reach`: what a window covers in each dimension, dilation included.
[[nodiscard]] WindowPads window_pads(const Node& n, const Dims& size, const Dims& reach, const Dims& strides);

}  // namespace weft::compiler::frontend
